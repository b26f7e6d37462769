"""The facts of Figure 4 and Appendix E against enumeration."""

import math

import pytest
import torch

from jumpbench.methods.blackout.enumeration import EnumeratedCounts
from jumpbench.methods.blackout.observed_process import ObservedProcess
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes, UniformTimes

LAW = torch.tensor([0.1, 0.3, 0.0, 0.2, 0.4], dtype=torch.float64)


def variance(law):
    levels = torch.arange(len(law), dtype=torch.float64)
    return float((law * levels**2).sum() - (law * levels).sum() ** 2)


@pytest.mark.parametrize("grid", [FisherTimes(20, 6.0), UniformTimes(20, 6.0)], ids=["f", "u"])
def test_facts_are_those_of_the_enumerated_process(grid):
    facts = ObservedProcess(PureDeath(4), grid, LAW).further_results()
    brightest = EnumeratedCounts([0, 0, 0, 0, 1.0])
    spreads = [variance(brightest.marginal(grid, k)) for k in range(1, 21)]
    k = 1 + spreads.index(max(spreads))
    assert facts["noisiest"] == pytest.approx(float(grid.times[k]))
    counts = EnumeratedCounts(LAW)
    left = variance(counts.marginal(grid, k)) / variance(LAW)
    assert facts["noise_left"] == pytest.approx(left, rel=1e-9)
    assert facts["black"] == pytest.approx(float(brightest.marginal(grid, 20)[0]), rel=1e-9)
    below = sum(float(t) < math.log(2) for t in grid.times[1:])
    assert facts["before_log_2"] == below / 20


def test_the_two_losses_meet_at_small_uniform_steps():
    """e^(-t_(k-1)) - e^(-t_k) over (t_k - t_(k-1)) e^(-t_k) is (e^d - 1) / d for steps of d."""
    for steps in (10, 1000):
        d = 15 / steps
        facts = ObservedProcess(PureDeath(4), UniformTimes(steps), LAW).further_results()
        assert facts["weights_gap"] == pytest.approx(math.expm1(d) / d - 1, rel=1e-9)
