"""The readings that the paper leaves open are named options of the command line."""

import pytest
from hydra.utils import instantiate

from jumpbench.methods.sgdd import schedule
from jumpbench.tables.plan import plan_run


def sampler(*overrides):
    return instantiate(plan_run("sgdd/table2", overrides).config["method"]["sampler"])


@pytest.mark.parametrize(
    ("option", "attribute", "value"),
    [
        ("potential=printed", "penalty", schedule.printed_penalty),
        ("potential=consistent", "penalty", schedule.consistent_penalty),
        ("schedule=paper", "times", schedule.paper_times),
        ("schedule=endpoint", "times", schedule.endpoint_times),
        ("order=likelihood_first", "prior_first", False),
        ("order=prior_first", "prior_first", True),
    ],
)
def test_named_options(option, attribute, value):
    assert getattr(sampler(option), attribute) == value


def test_start_of_metropolis_hastings():
    assert not sampler("mh_init=x").likelihood_step.from_previous
    assert sampler("mh_init=previous_z").likelihood_step.from_previous


def test_defaults_are_the_paper_as_printed():
    named = ["potential=printed", "schedule=paper", "mh_init=x", "order=likelihood_first"]
    assert plan_run("sgdd/table2", named).hash == plan_run("sgdd/table2").hash
    assert plan_run("sgdd/table2", ["potential=consistent"]).hash != plan_run("sgdd/table2").hash
