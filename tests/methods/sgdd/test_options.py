"""The readings that the paper leaves open are options of the command line, as documented."""

import re

import pytest
import torch
from hydra.utils import instantiate

from jumpbench.methods.sgdd import schedule
from jumpbench.methods.sgdd.likelihood_step import ExactStep
from jumpbench.methods.sgdd.prior import analytic
from jumpbench.methods.sgdd.problems.grid import MeanReading, NormReading
from jumpbench.paths import checkout
from jumpbench.tables.planning.plan import plan_run


def method(*overrides):
    return instantiate(plan_run("sgdd/table2", overrides).config["method"])


def test_defaults_are_the_paper_as_printed():
    sampler = method().sampler
    assert sampler.penalty is schedule.printed_penalty and sampler.times is schedule.paper_times
    assert not sampler.prior_first and not sampler.likelihood_step.from_previous
    assert (sampler.n_iterations, sampler.prior_steps) == (10, 20)
    assert sampler.likelihood_step.n_proposals == 10


STEP = "method.sampler.likelihood_step"
OPTIONS = {
    "+potential=sgdd/consistent": lambda m: (
        m.sampler.penalty(2.0, 50) == schedule.consistent_penalty(2.0, 50)
    ),
    "+schedule=sgdd/endpoint": lambda m: m.sampler.times(7) == schedule.endpoint_times(7),
    f"{STEP}.from_previous=true": lambda m: m.sampler.likelihood_step.from_previous,
    "method.sampler.prior_first=true": lambda m: m.sampler.prior_first,
    "method.sampler.return_z=true": lambda m: m.sampler.return_z,
    f"{STEP}.n_proposals=200": lambda m: m.sampler.likelihood_step.n_proposals == 200,
    f"likelihood_step@{STEP}=sgdd/exact": lambda m: isinstance(
        m.sampler.likelihood_step, ExactStep
    ),
    "+reverse_step=sgdd/analytic": lambda m: (
        getattr(m.prior.reverse_step, "func", m.prior.reverse_step) is analytic
    ),
    "target=sgdd/grid_mean": lambda m: isinstance(m.problem, MeanReading),
    "target=sgdd/grid_norm": lambda m: isinstance(m.problem, NormReading),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_documented_options(option):
    holds = OPTIONS[option]
    assert not holds(method()) and holds(method(option))
    assert plan_run("sgdd/table2", [option]).hash != plan_run("sgdd/table2").hash


@pytest.mark.skipif(checkout() is None, reason="needs the README of a checkout")
def test_every_option_of_the_readme_is_tested_here():
    text = (checkout() / "reproduce/sgdd/README.md").read_text()
    documented = re.findall(r"^\| `([^`]*=[^`]*)` \|", text, re.MULTILINE)
    assert documented and set(documented) <= set(OPTIONS)


def test_the_prior_follows_the_target():
    built = method("+target.width=3", "+target.n_states=20", "target.length=4")
    assert (built.prior.length, built.prior.n_states) == (4, 20)
    torch.testing.assert_close(built.prior.law, built.problem.law)
