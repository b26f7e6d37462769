"""The method as the suite runs it: what is logged, what is kept, and that it repeats."""

import pytest
import torch
from lightning import Trainer

from jumpbench.data.synthetic_posterior import NormReading, SumReading, SyntheticPosterior
from jumpbench.errors import UserError
from jumpbench.methods.sgdd import ProductPrior, SplitGibbs
from jumpbench.methods.sgdd.figures import heatmaps
from jumpbench.methods.sgdd.module import SyntheticPosteriorSampling
from jumpbench.metrics.histogram import hellinger


def run(seed=0, target=None, batch_size=150):
    target = target or SumReading(3)
    prior = ProductPrior(target.law, target.length)
    method = SyntheticPosteriorSampling(
        target, prior, SplitGibbs(3, 2), floor_replicates=4, seed=seed
    )
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False
    )
    [metrics] = trainer.test(method, SyntheticPosterior(400, batch_size), verbose=False)
    return metrics, method


def test_metrics_and_artifacts():
    metrics, method = run()
    assert metrics["test/n_samples"] == 400
    assert metrics["test/network_evaluations"] == 3 * 3
    assert metrics["test/likelihood_evaluations"] == 3 * 11
    assert 0 < metrics["test/acceptance"] < 1
    assert 0.2 < metrics["test/hellinger_floor"] < metrics["test/hellinger"] < 1
    assert metrics["test/tv_floor"] < metrics["test/tv"]
    sampled, truth = method.artifacts["sampled"], method.artifacts["truth"]
    assert sampled.sum() == pytest.approx(1) and (sampled * 400).sum() == pytest.approx(400)
    torch.testing.assert_close(truth, SumReading(3).marginal())
    assert metrics["test/hellinger"] == pytest.approx(float(hellinger(sampled, truth)), abs=1e-6)
    law = SumReading(3).law
    from_prior = float(hellinger(sampled, torch.outer(law, law)))
    assert metrics["test/prior_hellinger"] == pytest.approx(from_prior, abs=1e-6)


def test_a_seed_repeats_and_another_differs():
    one, again, other = run(seed=1)[0], run(seed=1)[0], run(seed=2)[0]
    assert one == again
    assert one["test/hellinger"] != other["test/hellinger"]


def test_a_reading_that_does_not_factor():
    metrics, _ = run(target=NormReading(3))
    assert 0 < metrics["test/hellinger"] < 1


def test_prior_and_target_must_fit():
    target = SumReading(3)
    with pytest.raises(UserError, match="give both the same"):
        SyntheticPosteriorSampling(target, ProductPrior(target.law, 2), SplitGibbs())


class Table:
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
