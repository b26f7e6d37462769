"""The bound on the negative log-likelihood: exact values, unbiased estimates, baselines."""

import math

import pytest
import torch

from jumpbench.methods.blackout.baselines.independent_pixels import log_histograms
from jumpbench.methods.blackout.enumeration import EnumeratedCounts
from jumpbench.methods.blackout.likelihood import (
    bernoulli_divergence,
    bound,
    poisson_divergence,
    prior_divergence,
)
from jumpbench.processes.counts import log_binomial
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes

P0 = [0.05, 0, 0.2, 0.1, 0, 0.05, 0.3, 0, 0.3]
COUNTS = EnumeratedCounts(P0)
M = 8


def site_divergence(lost, y, r, room):
    """KL(Binomial(D, r) || clipped Poisson(r y)) with E log (D - d)! written out over d."""
    total = 0.0
    for left in range(M + 1):
        weight = log_binomial(torch.tensor(left), lost, 1 - r, r).exp()
        part = poisson_divergence(lost, y, r, room, torch.full_like(lost, left).clamp(max=lost))
        total = total + torch.where(weight > 0, weight * part, 0.0)
    return total


def exact_bound(steps, scale=1.0):
    """B averaged over p0 with y = scale * E[D | X], the unrevived units summed over."""
    grid = FisherTimes(steps, 15.0)
    revival, total = grid.revival(), 0.0
    for k in range(1, steps + 1):
        joint = COUNTS.joint(grid, k).exp()  # (X_0, X_t)
        start, x = torch.meshgrid(COUNTS.states[:, 0], COUNTS.states[:, 0], indexing="ij")
        y = scale * COUNTS.lost(grid, k)[:, 0].expand(M + 1, -1)
        lost = (start - x).clamp(min=0)
        total += (joint * site_divergence(lost, y, revival[k], M - x)).sum()
    prior = prior_divergence(COUNTS.states[:, 0], M, float(grid.survival[-1]), float(grid.loss[-1]))
    return float(total + COUNTS.law @ prior)


@pytest.mark.parametrize(("steps", "value"), [(10, 2.00213), (100, 1.63342), (1000, 1.58007)])
def test_values_with_true_means(steps, value):
    """They fall to the entropy, 1.57410 nats."""
    assert math.isclose(exact_bound(steps), value, abs_tol=2e-5)
    assert value > COUNTS.entropy()


def test_no_model_beats_the_entropy():
    best = exact_bound(100)
    for scale in (0.8, 1.2):
        assert exact_bound(100, scale) > best


@pytest.mark.parametrize("x", [0, 3, 8])
def test_poisson_divergence_is_the_definition(x):
    """Summed over d from the two laws themselves."""
    room = torch.tensor(M - x)
    for lost in range(M - x + 1):
        for y in (0.3, 2.5, 7.0):
            r = torch.tensor(0.2, dtype=torch.float64)
            y = torch.tensor(min(y, max(M - x, 1e-6)), dtype=torch.float64)
            d = torch.arange(M - x + 1)
            ours = log_binomial(d, torch.tensor(lost), r, 1 - r)
            log = torch.special.xlogy(d.double(), r * y) - r * y - torch.lgamma(d.double() + 1)
            law = log.exp()
            law[-1] = 1 - law[:-1].sum()
            both = ours.isfinite()
            expected = (ours.exp() * (ours - law.log()))[both].sum() if x < M else 0.0
            found = site_divergence(torch.tensor(lost), y, r, room)
            assert math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-7)


def test_bernoulli_divergence_is_the_definition():
    r, y = torch.tensor(0.4, dtype=torch.float64), torch.tensor(0.3, dtype=torch.float64)
    p = r * y
    one = r * (r / p).log() + (1 - r) * ((1 - r) / (1 - p)).log()
    found = bernoulli_divergence(torch.tensor([0, 1, 0]), y, r, torch.tensor([1, 1, 0]))
    assert torch.allclose(found, torch.stack([-torch.log1p(-p), one, 0 * one]), atol=1e-12)


def test_the_prior_term():
    """4e-7 nats on average; for a site without units M times -log(1 - e^-15)."""
    grid = FisherTimes(10, 15.0)
    value = prior_divergence(COUNTS.states[:, 0], M, float(grid.survival[-1]), float(grid.loss[-1]))
    assert math.isclose(value[0], -M * math.log1p(-math.exp(-15)), rel_tol=1e-9)
    assert math.isclose(value[8], 0.0, abs_tol=1e-15)
    assert 3e-7 < float(COUNTS.law @ value) < 5e-7


@pytest.mark.parametrize("strata", [1, 4])
def test_estimates_are_unbiased(strata):
    """40,000 values of the nine, T = 20: the mean within 5 standard errors of the exact bound."""
    grid, process = FisherTimes(20, 15.0), PureDeath(M)
    means = torch.stack([torch.zeros(M + 1), *(
        COUNTS.lost(grid, k)[:, 0].float() for k in range(1, 21)
    )])  # fmt: skip
    g = torch.Generator().manual_seed(strata)
    start = torch.multinomial(COUNTS.law, 40_000, replacement=True, generator=g).view(-1, 1)

    def mean_lost(x, k):
        return means[k.view(-1, 1), x.long()]

    found = bound(mean_lost, process, grid, start, g, strata)
    error = float(found.std() / len(found) ** 0.5)
    assert abs(float(found.mean()) - exact_bound(20)) < 5 * error
    assert error < 0.06


def test_histograms_are_smoothed_frequencies():
    counts = torch.tensor([[0, 2], [1, 2], [1, 2]])
    law = log_histograms(counts, 2).exp()
    assert torch.allclose(law, torch.tensor([[2, 3, 1], [1, 1, 4]], dtype=torch.float64) / 6)
