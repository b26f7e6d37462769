"""The mean value of clean draws, drawn site by site, has the law of drawing clean states."""

import itertools

import pytest
import torch

from jumpbench.methods.sgdd.baselines.site_values import SiteSums, mean_values
from jumpbench.methods.sgdd.likelihoods import Reward, SiteLikelihood
from jumpbench.methods.sgdd.product_prior import ProductPrior

LAW = torch.tensor([0.5, 0.25, 0.15, 0.1], dtype=torch.float64)
ALIKE = torch.tensor([[0.0, -1.0, -1.0, -3.0]] * 2, dtype=torch.float64)
DIFFERENT = torch.tensor([[0.0, -1.0, -1.0, -3.0], [0.5, 0.0, 1.25, 0.0]], dtype=torch.float64)


def enumerated(matrix, table, x, n_draws):
    """Law of the mean over ``n_draws`` states of two sites, as {value: probability}."""
    states = list(itertools.product(range(4), repeat=2))
    law = {0.0: 1.0}
    for _ in range(n_draws):
        after = {}
        for total, chance in law.items():
            for a, b in states:
                value = round(total + float(table[0, a] + table[1, b]), 9)
                weight = chance * float(matrix[x[0], a] * matrix[x[1], b])
                after[value] = after.get(value, 0.0) + weight
        law = after
    return {total / n_draws: chance for total, chance in law.items()}


@pytest.mark.parametrize("table", [ALIKE, DIFFERENT], ids=["alike", "different"])
@pytest.mark.parametrize("n_draws", [1, 3])
def test_law_of_the_mean(table, n_draws, generator):
    [denoiser] = ProductPrior(LAW, 2).denoisers([0.7], 1)
    law = enumerated(denoiser.matrix, table, (2, 0), n_draws)
    x = torch.tensor([2, 0], dtype=torch.int32).expand(60_000, 2)
    likelihood = SiteLikelihood(table)
    fast = mean_values([denoiser], likelihood, n_draws)
    slow = mean_values([denoiser], Reward(likelihood.log_likelihood), n_draws)
    for [mean_value] in (fast, slow):
        found = mean_value(x, torch.arange(len(x)), generator)
        for value, chance in law.items():
            frequency = float(((found - value).abs() < 1e-4).double().mean())
            error = (chance * (1 - chance) / len(x)) ** 0.5
            assert abs(frequency - chance) <= 4.5 * error
        assert sum(law.values()) == pytest.approx(1)


def test_law_of_a_site_sum():
    """Three draws of a site: all 4^3 outcomes."""
    [denoiser] = ProductPrior(LAW, 2).denoisers([0.6], 0)
    sums = SiteSums.of(ALIKE, 3)
    law = sums.law(denoiser.matrix, 0)
    expected = torch.zeros_like(law)
    for symbol, draws in itertools.product(range(4), itertools.product(range(4), repeat=3)):
        total = ALIKE[0, list(draws)].sum()
        index = (sums.values[0] - total).abs().argmin()
        expected[symbol, index] += denoiser.matrix[symbol, list(draws)].prod()
    torch.testing.assert_close(law, expected)


def test_too_many_sums_are_not_tabulated():
    assert SiteSums.of(torch.randn(2, 300, dtype=torch.float64), 3) is None
