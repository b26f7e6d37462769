"""The toy of XORs: its exact posterior against a sum over states, bit by bit."""

import itertools
import math

import pytest

from jumpbench.methods.sgdd.problems.pairs import PairPosterior
from jumpbench.metrics.histogram import hellinger


def test_marginal_is_the_enumerated_one():
    problem = PairPosterior(length=5, share=1.4, ones=0.3, sigma=0.7, seed=3)
    pairs = list(zip(*problem.pairs.tolist(), problem.observed.tolist(), strict=True))
    assert len(pairs) == 7
    table, total = [[0.0, 0.0], [0.0, 0.0]], 0.0
    for x in itertools.product((0, 1), repeat=5):
        wrong = sum((x[i] ^ x[j]) != y for i, j, y in pairs)
        weight = 0.3 ** sum(x) * 0.7 ** (5 - sum(x)) * math.exp(-wrong / 0.7)
        table[x[0]][x[1]] += weight
        total += weight
    expected = [value / total for row in table for value in row]
    assert problem.marginal().flatten().tolist() == pytest.approx(expected, abs=1e-12)


def test_the_measurement_says_something():
    """Otherwise the prior alone would win the table."""
    problem = PairPosterior(10)
    assert problem.length == 10 and problem.pairs.shape == (2, 10)
    assert hellinger(problem.marginal(), problem.prior_marginal()) > 0.15
