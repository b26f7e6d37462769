"""The bound on the negative log-likelihood: exact values, unbiased estimates, baselines."""

import math

import pytest
import torch

from jumpbench.methods.blackout.baselines.independent_pixels import log_histograms
from jumpbench.methods.blackout.baselines.uniform_noise import UniformNoise
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
    left = torch.arange(M + 1).view(-1, *[1] * lost.ndim)  # all at once
    weight = log_binomial(left, lost, 1 - r, r).exp()
    parts = poisson_divergence(lost, y, r, room, torch.minimum(left, lost))
    return torch.where(weight > 0, weight * parts, 0.0).sum(0)


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


@pytest.mark.parametrize(
    ("lost", "y"), [(255, 1e-6), (255, 3.0), (255, 200.0), (40, 1e-6), (1, 0.3)]
)
def test_all_that_is_lost_must_come_back_in_one_step(lost, y):
    """r = 1, D = M - X: the divergence is -log P(Poisson(y) >= D), also where that is no number.

    D = 255, y = 1e-6: 4684.66 nats, where a tail of at least 1e-300 would allow 690.8.
    """
    n, m = torch.tensor(float(lost), dtype=torch.float64), torch.tensor(y, dtype=torch.float64)
    one = torch.ones((), dtype=torch.float64)
    terms = [j * math.log(y) - y - math.lgamma(j + 1) for j in range(lost, lost + 2000)]
    expected = -torch.logsumexp(torch.tensor(terms, dtype=torch.float64), 0)
    assert lost != 255 or y > 1e-6 or abs(expected - 4684.66) < 0.01
    assert torch.allclose(poisson_divergence(n, m, one, n, 0 * n), expected, rtol=1e-10)


def test_the_noise_of_the_unrevived_is_what_the_slope_leaves():
    """D = 200, r = 0.01: log (D - d)! alone has a standard deviation of 7 nats; D = 1 has none."""
    g = torch.Generator().manual_seed(0)
    r = torch.tensor(0.01, dtype=torch.float64)
    for lost, most in ((200, 0.02), (2, 0.02), (1, 1e-12)):
        units = torch.full((20_000,), lost)
        unrevived = torch.binomial(units.double(), (1 - r).expand(20_000), generator=g)
        plain = float(torch.lgamma(unrevived + 1).std())
        assert plain > 7 or lost < 3
        y = torch.full((20_000,), 0.8 * lost)
        value = poisson_divergence(units, y, r, torch.full((20_000,), 255), unrevived)
        assert float(value.std()) < most


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


@pytest.mark.parametrize(("last", "value"), [(3.0, 2.013), (2.0, 5.903), (1.0, 20.48)])
def test_the_prior_term_of_a_short_process(last, value):
    """X_0 = 128 of M = 255: many survive, and all of them count. Summed over both laws here."""
    from scipy.stats import binom

    q = math.exp(-last)
    left = range(129)
    ours, widest = binom.logpmf(left, 128, q), binom.logpmf(left, 255, q)
    expected = float((binom.pmf(left, 128, q) * (ours - widest)).sum())
    found = prior_divergence(torch.tensor([[128, 255]], dtype=torch.uint8), 255, q, 1 - q)[0]
    assert math.isclose(found[0], expected, rel_tol=1e-9)
    assert math.isclose(expected, value, rel_tol=1e-3) and abs(float(found[1])) < 1e-9


def test_no_bound_is_below_the_entropy_however_short_the_process():
    """Uniform on 100..155 of M = 255, T = 100, t_T = 1, true means: not below log 56 nats."""
    law = torch.zeros(256)
    law[100:156] = 1 / 56
    counts, grid = EnumeratedCounts(law), FisherTimes(100, 1.0)
    means = torch.stack([torch.zeros(256), *(
        counts.lost(grid, k)[:, 0].float() for k in range(1, 101)
    )])  # fmt: skip
    g = torch.Generator().manual_seed(0)
    start = torch.multinomial(counts.law, 20_000, replacement=True, generator=g).view(-1, 1)
    found = bound(lambda x, k: means[k.view(-1, 1), x.long()], PureDeath(255), grid, start, g, 20)
    error = float(found.std() / len(found) ** 0.5)
    assert float(found.mean()) > counts.entropy() + 3 * error


def test_the_error_of_many_levels_is_small_enough_to_print():
    """256 levels, T = 1000, four strata: one site's estimates have a standard deviation of 8 nats.

    Without the slope of the unrevived it is 718.
    """
    law = torch.zeros(256)
    law[100:156] = 1 / 56
    counts, grid = EnumeratedCounts(law), FisherTimes(1000, 15.0)
    ks = torch.arange(1, 1001, 20)  # means at every 20th time serve for the others
    means = torch.stack([counts.lost(grid, int(k))[:, 0].float() for k in ks])
    shares = (means / grid.loss[ks].float().view(-1, 1)).nan_to_num()
    g = torch.Generator().manual_seed(0)
    start = torch.multinomial(counts.law, 4000, replacement=True, generator=g).view(-1, 1)

    def mean_lost(x, k):
        return shares[((k - 1) // 20).view(-1, 1), x.long()] * grid.loss[k].float().view(-1, 1)

    found = bound(mean_lost, PureDeath(255), grid, start, g, 4)
    assert float(found.std()) < 20


def test_uniform_noise_has_its_exact_likelihood_and_draws_every_value():
    """3 sites of 0..255: 3 log 256 nats, 8 bits a site."""
    counts = torch.zeros(8, 3, dtype=torch.uint8)
    noise, g = UniformNoise(255), torch.Generator().manual_seed(0)
    drawn = noise.draw({"count": 4, "counts": counts}, g)
    assert drawn.samples.shape == (4, 3) and drawn.extras["bound"].shape == (4, 2)
    assert torch.allclose(
        drawn.extras["bound"] / (3 * math.log(2)), torch.full((4, 2), 8.0).double()
    )
    many = noise.draw({"count": 200_000, "counts": counts[:0]}, g)
    found = torch.bincount(many.samples.flatten(), minlength=256).double()
    expected = many.samples.numel() / 256
    chi = float(((found - expected) ** 2 / expected).sum())
    assert len(found) == 256 and not many.extras
    assert abs(chi - 255) < 5 * math.sqrt(2 * 255)


def test_histograms_are_smoothed_frequencies():
    counts = torch.tensor([[0, 2], [1, 2], [1, 2]])
    law = log_histograms(counts, 2).exp()
    assert torch.allclose(law, torch.tensor([[2, 3, 1], [1, 1, 4]], dtype=torch.float64) / 6)
