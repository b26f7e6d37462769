"""Designed enhancers judged by networks whose answers are known."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from jumpbench.errors import UserError
from jumpbench.evaluations.enhancers import EnhancerEvaluation
from jumpbench.evaluations.regression import RegressionEvaluation
from jumpbench.samplers.draws import Draws

LAW = torch.tensor([0.1, 0.2, 0.3, 0.4])


class Count(nn.Module):
    """First output: the number of As; second: of Cs."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.scale * F.one_hot(x, 4).float().sum(1)[:, :2]


class Independent(nn.Module):
    """Log-scores of sites that follow LAW, with another factor at every site."""

    def forward(self, x, noise):
        scores = torch.cat([LAW.log(), torch.zeros(1)]).expand(*x.shape, 5)
        return scores + torch.arange(x.shape[1])[:, None] - noise[:, None, None]


def judged(samples, **options):
    evaluation = EnhancerEvaluation(Count(), **options)
    for part in samples.split(2):
        kept = evaluation.keep({"states": torch.zeros_like(part)})
        evaluation.update(Draws(part, extras={"acceptance": torch.ones(len(part))}), kept)
    return evaluation.results()


SAMPLES = torch.tensor([[0, 0, 0, 1], [0, 1, 2, 3], [0, 1, 2, 3], [0, 0, 2, 2], [1, 1, 1, 3]])


def test_definitions():
    values = judged(SAMPLES, accessibility=Count(), truth=lambda x: 10.0 * x[:, :1], batch=2)
    counts = torch.tensor([3.0, 1, 1, 2, 0]).double()
    assert values["activity_median"] == 1 and values["activity_mean"] == pytest.approx(1.4)
    assert values["activity_std"] == pytest.approx(float(counts.std()))
    # Class 1 wins where there are more Cs than As; a tie is not more than one half.
    assert values["accessible"] == 20 and values["distinct"] == 80
    assert values["data_activity"] == 4 and values["acceptance"] == 1
    assert values["true_activity"] == pytest.approx(2)
    assert "log_likelihood_mean" not in values
    other = judged(SAMPLES, head=1)
    assert other["activity_median"] == 1 and other["activity_mean"] == pytest.approx(6 / 5)
    assert judged(SAMPLES[:1])["activity_std"] == 0


def test_likelihood_of_independent_sites():
    """The bound is unbiased for them, up to the grid's ends: its mean is log p (1 - 1e-5)."""
    samples = torch.randint(4, (2000, 12), generator=torch.Generator().manual_seed(0))
    values = judged(samples, denoiser=Independent(), steps=32)
    exact = LAW.log()[samples].sum(-1).double()
    error = values["log_likelihood_std"] / 2000**0.5
    assert abs(values["log_likelihood_mean"] - float(exact.mean())) < 4.5 * error
    again = judged(samples, denoiser=Independent(), steps=32)
    assert again["log_likelihood_mean"] == values["log_likelihood_mean"]


def test_weights_of_other_runs(tmp_path):
    torch.save({"network": {"scale": torch.full((1,), 2.0)}}, tmp_path / "samples.pt")
    assert judged(SAMPLES, judge_weights=tmp_path)["activity_mean"] == pytest.approx(2.8)
    torch.save({"network": {"scale": torch.ones(3)}}, tmp_path / "samples.pt")
    with pytest.raises(UserError, match="do not fit"):
        judged(SAMPLES, judge_weights=tmp_path)
    with pytest.raises(UserError, match="is missing"):
        judged(SAMPLES, judge_weights=tmp_path / "nowhere")


def test_regression():
    evaluation = RegressionEvaluation()
    measured = torch.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    evaluation.update(Draws(2 * measured), evaluation.keep({"activities": measured}))
    values = evaluation.results()
    assert values["pearson"] == pytest.approx(1.0) and values["mse"] == pytest.approx(8 / 6)
