"""Numbers that tables 2 (conference) and 4 tell without a run: from the exact Ising torus."""

import math

import pytest
from scipy.optimize import brentq

from jumpbench.targets.kaufman import ising_torus


def correlation(beta):
    """Of neighbours on the 10x10 torus."""
    return -ising_torus(10, beta).mean_energy / 200


def test_the_offset_of_left_ends():
    """E[log rho] grows by beta times the sum over pairs from 0; of 63 steps, dt / 2 is 1 / 126."""
    beta = 0.2
    growth = 200 * beta * correlation(beta)
    assert growth / 126 / (beta * 100) == pytest.approx(0.0034, abs=5e-5)


def test_what_the_penalty_leaves_with_infinite_data():
    """A coupling J_ij moves the loss by the difference of correlations, and the penalty by 0.05:
    neighbours' correlations stay 0.05 short, all other couplings are 0."""
    sigma, size = 0.1, 10
    short = correlation(2 * sigma) - 0.05
    learnt = brentq(lambda beta: correlation(beta) - short, 0.05, 2 * sigma) / 2
    rmse = (sigma - learnt) * math.sqrt(4 * size**2 / size**4)  # four neighbours a site
    assert -math.log(rmse) == pytest.approx(5.46, abs=5e-3)
