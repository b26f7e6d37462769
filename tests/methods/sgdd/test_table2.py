"""SGDD end to end on the synthetic posterior, at the table's own size (spec 12, items 7 and 11)."""

import pytest
import torch

from jumpbench.methods.sgdd.baselines.dps import DPS
from jumpbench.methods.sgdd.baselines.smc import SMC
from jumpbench.methods.sgdd.baselines.svdd import SVDD
from jumpbench.methods.sgdd.likelihood_step import MetropolisStep
from jumpbench.methods.sgdd.likelihoods import Reward
from jumpbench.methods.sgdd.prior import ScorePrior, clean_grid
from jumpbench.methods.sgdd.problems.grid import SumReading
from jumpbench.methods.sgdd.product_prior import ProductPrior
from jumpbench.methods.sgdd.sampler import SplitGibbs
from jumpbench.methods.sgdd.schedule import consistent_penalty, endpoint_times, printed_penalty
from jumpbench.metrics.histogram import hellinger as hellinger_distance
from jumpbench.metrics.histogram import pair_counts, sampling_floor, total_variation
from jumpbench.samplers.cost import Meter, metered

GENERATOR = torch.Generator().manual_seed(0)
BANDS = {2: (0.121, 0.010, 0.102, 0.013), 5: (0.215, 0.010, 0.231, 0.016)}
BANDS[10] = (0.335, 0.012, 0.363, 0.017)


def distances(sampler, length, truth=None, likelihood=None, n_samples=10_000, seed=5):
    target = SumReading(length)
    truth = target.marginal() if truth is None else truth
    draws = sampler(
        ProductPrior(target.law, length),
        likelihood or target.likelihood(),
        torch.Generator().manual_seed(seed),
        n_samples,
    )
    law = pair_counts(draws.samples, len(truth)).double() / len(draws)
    return [float(distance(law, truth)) for distance in (hellinger_distance, total_variation)]


@pytest.mark.parametrize("length", BANDS)
def test_default_cells(length):
    hellinger, hellinger_band, tv, tv_band = BANDS[length]
    found = distances(SplitGibbs(10, 20, MetropolisStep(10)), length)
    assert found[0] == pytest.approx(hellinger, abs=hellinger_band)
    assert found[1] == pytest.approx(tv, abs=tv_band)


@pytest.mark.parametrize(("length", "expected"), [(2, 0.124), (5, 0.227), (10, 0.351)])
def test_endpoint_schedule(length, expected):
    found, _ = distances(SplitGibbs(10, 20, MetropolisStep(10), times=endpoint_times), length)
    assert found == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("length", [2, 10])
def test_the_consistent_sampler_stays_near_the_floor(length):
    sampler = SplitGibbs(10, 20, MetropolisStep(200), penalty=consistent_penalty, prior_first=True)
    found, _ = distances(sampler, length)
    assert 0.10 < found <= 0.145  # the floor is 0.110; spec: at most 0.14 for all lengths


def test_without_guidance_the_prior_comes_out():
    found = distances(SVDD(candidates=1, n_steps=128, x0_steps=0, n_draws=1), 2)
    assert found == pytest.approx([0.65, 0.70], abs=0.015)


def test_zero_likelihood_returns_the_prior_with_the_consistent_penalty_only():
    """f = 0, T = 200, likelihood first, x returned: 0.208 against 0.337; floor 0.207."""
    law = SumReading(2).law
    truth = torch.outer(law, law)
    nothing = Reward(lambda x: torch.zeros(len(x)))
    mean, std = sampling_floor(
        hellinger_distance, truth, 10_000, 32, torch.Generator().manual_seed(0)
    )
    for penalty, low, high in (
        ({"penalty": consistent_penalty}, mean - 4 * std, mean + 4 * std),
        ({}, 0.30, 0.37),
    ):
        sampler = SplitGibbs(10, 20, MetropolisStep(200), **penalty)
        found, _ = distances(sampler, 2, truth, nothing)
        assert low < found < high


def site_law(target, sampler, n_proposals):
    """Exact law of one returned site. The likelihood factors, so sites evolve on their own: of T
    proposals each falls on a given site with probability 1/D.
    """
    prior, n = ProductPrior(target.law, target.length), target.n_states
    table, tokens = target.site_table(), torch.arange(n)
    law = torch.full((n,), 1 / n, dtype=torch.float64)
    for t in sampler.times(sampler.n_iterations):
        penalty = sampler.penalty(float(prior.schedule.total(t)), n)
        to_z = torch.zeros(n, n, dtype=torch.float64)
        for x in range(n):
            log_pi = table - penalty * (tokens != x)
            move = torch.exp((log_pi - log_pi[:, None]).clamp(max=0)) / n
            move += torch.diag(1 - move.sum(-1))
            some = (1 - 1 / target.length) * torch.eye(n) + move / target.length
            to_z[x] = torch.linalg.matrix_power(some, n_proposals)[x]
        denoise = prior.clean_matrix(clean_grid(t, sampler.prior_steps))
        law = law @ denoise @ to_z if sampler.prior_first else law @ to_z @ denoise
    return law


@pytest.mark.parametrize("length", [2, 5])
@pytest.mark.parametrize("prior_first", [False, True])
@pytest.mark.parametrize("penalty", [printed_penalty, consistent_penalty])
def test_sites_follow_their_exact_law(length, prior_first, penalty):
    target = SumReading(length)
    sampler = SplitGibbs(4, 5, MetropolisStep(10), penalty=penalty, prior_first=prior_first)
    law = site_law(target, sampler, 10)
    prior = ProductPrior(target.law, length)
    samples = sampler(prior, target.likelihood(), torch.Generator().manual_seed(1), 20_000).samples
    for site in range(2):
        counts = torch.bincount(samples[:, site], minlength=50)
        z = ((counts - 20_000 * law) / (20_000 * law * (1 - law)).sqrt())[20_000 * law > 25]
        assert len(z) > 20
        assert z.abs().max() < 4.5
        assert (z**2).mean() == pytest.approx(1, abs=0.9)  # sd of a mean of 20 squares: 0.32


@pytest.mark.parametrize(
    ("sampler", "counted", "all_calls"),
    [
        (SplitGibbs(10, 20, MetropolisStep(10)), 200, 210),
        (SVDD(20, 128, 2, 3), 128 + 60 * (127 * 2 + 1), 23_049),
        (SVDD(100, 128, 2, 3), 128 + 300 * (127 * 2 + 1), 114_729),
        (SMC(20, 128, 4, 3), 20 * (128 + 3 * (127 * 4 + 1)), 40_721),
        (DPS(100, 1), 100 * 100, 19_901),
    ],
)
def test_network_evaluations_by_the_papers_count_and_in_full(sampler, counted, all_calls):
    """HK for SGDD: a denoising draw after reverse steps is free; the cost counts it."""
    target = SumReading(2)
    prior = ProductPrior(target.law, 2)
    draws = sampler(prior, target.likelihood(), torch.Generator().manual_seed(0), 2)
    assert draws.extras["counted_evaluations"].tolist() == [counted, counted]
    assert draws.cost.network_evaluations == all_calls
    # A network is put through as many states.
    meter = Meter()
    black_box = ScorePrior(metered(prior.score, meter, "network"), prior.process, 2)
    few = SplitGibbs(3, 4, MetropolisStep(2))(black_box, target.likelihood(), GENERATOR, 5)
    assert meter.network == 5 * few.cost.network_evaluations == 5 * 3 * (4 + 1)
