"""Blackout on enumerable counts as a method: trainings without noise, which laws are computed."""

from functools import partial

import pytest
import torch
from lightning import Trainer

from jumpbench.data.numbers import Numbers
from jumpbench.methods.blackout.enumerated import EnumeratedBlackout
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes
from jumpbench.tables.language.spec import load


def enumerated(law, **options):
    return EnumeratedBlackout(
        law, process=PureDeath(len(law) - 1), grid=FisherTimes(4, 15.0), **options
    )


def test_a_training_does_not_depend_on_the_seed():
    """The loss is an expectation and the table starts alike: these rows are exact."""
    results = []
    for seed in (0, 1):
        method = enumerated(
            [0.2, 0.3, 0.5], seed=seed, optimizer=partial(torch.optim.Adam, lr=0.05)
        )
        Trainer(
            max_steps=30, max_epochs=-1, accelerator="cpu", logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        ).fit(method, Numbers())  # fmt: skip
        results.append(method.further_results())
    assert results[0] == results[1] and results[0]["tv@poisson"] < 0.5
    assert all(row.exact for row in load("blackout/exact").rows)


@pytest.mark.parametrize(("values", "few"), [(16, True), (17, False)])
def test_laws_that_cost_too_much_for_many_levels_are_left_out(values, few):
    found = enumerated([1 / values] * values, trained=False).further_results()
    assert ("tv@corrected" in found) == ("tv@posterior" in found) == few
    assert {"tv@nearest", "tv@stochastic", "tv@poisson", "tv@textbook"} <= set(found)
