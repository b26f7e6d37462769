"""The method as the suite runs it: what is logged, what is kept, and that it repeats."""

import math
from dataclasses import replace

import pytest
import torch
from lightning import Trainer

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.grid import GridEvaluation
from jumpbench.methods.sgdd import (
    ExactStep,
    MetropolisStep,
    ProductPrior,
    ScorePrior,
    SplitGibbs,
)
from jumpbench.methods.sgdd.figures import heatmaps
from jumpbench.methods.sgdd.module import PosteriorSampling
from jumpbench.methods.sgdd.problems.grid import NormReading, SumReading, grid_prior
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.draws import Draws
from support import OwnHeads


def run(seed=0, target=None, batch_size=150):
    target = target or SumReading(3)
    method = PosteriorSampling(
        target,
        grid_prior(target),
        SplitGibbs(3, 2, MetropolisStep(10)),
        GridEvaluation(target, floor_replicates=4),
        seed=seed,
    )
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False
    )
    trainer.test(method, Numbers(400, batch_size), verbose=False)
    return {k: v for k, v in method.results.items() if k != "sample_seconds"}, method


def test_results_and_artifacts():
    results, method = run()
    assert results["n_samples"] == 400
    assert results["network_evaluations"] == 3 * 3
    assert results["counted_evaluations"] == 3 * 2
    assert results["energy_evaluations"] == 3 * 11
    assert results["sequential_steps"] == 3 * (
        3 + 10
    )  # the 11th is the state that a chain starts from
    assert 0 < results["acceptance"] < 1
    assert 0.2 < results["hellinger_floor"] < results["hellinger"] < 1
    assert results["tv_floor"] < results["tv"]
    sampled = method.artifacts["sampled"]
    assert sampled.sum() == pytest.approx(1) and (sampled * 400).sum() == pytest.approx(400)
    assert method.artifacts["samples"].shape == (400, 3)


def test_a_prior_that_is_a_module_is_not_trained():
    network = torch.nn.Linear(3, 3)
    prior = ScorePrior(network, UniformProcess(50), 3)
    method = PosteriorSampling(SumReading(3), prior, SplitGibbs(1, 1, ExactStep()))
    assert not any(p.requires_grad for p in method.parameters())


def test_a_seed_repeats_and_another_differs():
    one, again, other = run(seed=1)[0], run(seed=1)[0], run(seed=2)[0]
    assert one == again
    assert one["hellinger"] != other["hellinger"]


def test_a_reading_that_does_not_factor():
    results, _ = run(target=NormReading(3))
    assert 0 < results["hellinger"] < 1


def test_prior_and_target_must_fit():
    target = SumReading(3)
    with pytest.raises(UserError, match="give both the same"):
        PosteriorSampling(target, ProductPrior(target.law, 2), SplitGibbs(1, 1, ExactStep()))


class Table(OwnHeads):
    rows = ("SGDD", "absent")
    columns = ("D=2", "D=5")

    def __init__(self, artifacts):
        self.artifacts = artifacts

    def artifact(self, row, column):
        return self.artifacts.get((row, column))


def test_heat_maps():
    law = torch.rand(50, 50)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    figure = heatmaps(Table({("SGDD", "D=5"): {"sampled": law, "truth": law}}))
    shown = [axis for axis in figure.axes if axis.images]
    assert len(figure.axes) == 4 and len(shown) == 2
    pyplot.close(figure)
    assert heatmaps(Table({})) is None


class Told:
    """A sampler of one's own, whose draws are changed."""

    def __init__(self, told):
        self.told = told

    def __call__(self, prior, likelihood, generator, n_chains):
        return self.told(
            SplitGibbs(2, 2, MetropolisStep(5))(prior, likelihood, generator, n_chains)
        )


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (
            lambda d: replace(d, samples=d.samples * math.nan),
            r"Told returned torch.float32 \(8, 3\)",
        ),
        (lambda d: replace(d, samples=d.samples + 0.7), r"not integers \(8, 3\)"),
        (
            lambda d: replace(d, samples=d.samples + 60),
            r"Told returned the symbol \d+; there are 0",
        ),
        (lambda d: replace(d, samples=d.samples[:, :1]), r"torch.int64 \(8, 1\), not integers"),
        (lambda d: Draws(d.samples[:4]), r"torch.int64 \(4, 3\), not integers \(8, 3\)"),
        (lambda d: d.samples, "Told returned a tensor alone: return Draws of it"),
        (lambda d: None, "Told returned NoneType, not integers"),
    ],
)
def test_what_an_own_sampler_returns_is_checked(told, says):
    target = SumReading(3)
    method = PosteriorSampling(target, grid_prior(target), Told(told))
    with pytest.raises(UserError, match=says):
        method.draw(torch.arange(8), torch.Generator().manual_seed(0))
