"""Errors in print, Blackout: the printed form fails where the right one holds."""

import math

import pytest
import torch

from jumpbench.methods.blackout.enumeration import EnumeratedCounts, poisson_steps
from jumpbench.metrics.histogram import total_variation
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes

LAST = 15.0


def test_the_share_that_comes_back_has_no_factor_s():
    """Equation 13 has r = s (e^-s - e^-t) / (1 - e^-t). Units lost by t come back by s < t with
    the probability that they died between the two, given that they died by t."""
    s, t = 0.4, 1.1
    process, one = PureDeath(1), torch.tensor(1)
    alive = {u: float(process.log_marginal(one, u, one).exp()) for u in (s, t)}
    true = (alive[s] - alive[t]) / (1 - alive[t])
    r = (math.exp(-s) - math.exp(-t)) / (1 - math.exp(-t))
    assert r == pytest.approx(true, abs=1e-12) and abs(s * r - true) > 0.2


def test_the_mean_of_a_poisson_leap_has_the_length_of_the_step():
    """Algorithm 2 has y e^-t / (1 - e^-t), the rate: millions of units for one that was lost."""
    counts, grid = EnumeratedCounts([0.7, 0.3]), FisherTimes(100, LAST)
    printed = torch.cat([grid.loss[:1], grid.survival[1:] / grid.loss[1:]])
    right = counts.sampled_law(poisson_steps(1), grid)
    wrong = counts.sampled_law(poisson_steps(1), grid, factors=printed)
    assert total_variation(right, counts.law) < 0.003
    assert total_variation(wrong, counts.law) > 0.5
    assert 1 / float(FisherTimes(1000, LAST).loss[1]) > 3e6


def test_the_first_time_is_a_number_with_a_minus_sign_only():
    """t_1 = -log(1 - e^(t_T)) in print, for -log(1 - e^(-t_T))."""
    assert 1 - math.exp(LAST) < 0
    first = -math.log(1 - math.exp(-LAST))
    assert float(FisherTimes(1000, LAST).loss[1]) == pytest.approx(-math.expm1(-first), rel=1e-3)


def test_the_noise_of_the_gaussian_limit_has_twice_the_printed_variance():
    """Equation 39 has D = (nu_+ + nu_-) / (2 V^2) under the root; Var(X_t) / t tends to o."""
    start, t = 4000, 1e-4
    left = torch.arange(start + 1)
    law = PureDeath(start).log_marginal(left, t, torch.tensor(start)).exp()
    variance = float((law * (left - (law * left).sum()) ** 2).sum()) / t
    assert variance == pytest.approx(start, rel=1e-3)
