import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpbench.samplers.leaping import euler
from jumpbench.samplers.weights import (
    PathIntegral,
    effective_sample_size,
    log_mean_exp,
    log_normaliser,
)

logs = st.lists(st.floats(-50, 50), min_size=1, max_size=20)


def test_known_effective_sample_sizes():
    cases = [
        ([0.0, 0.0, 0.0], 1.0),
        ([0.0, -math.inf, -math.inf, -math.inf], 0.25),
        ([math.log(1), math.log(2)], 1.5**2 / 2.5),
        ([-math.inf, -math.inf], 0.0),
    ]
    for log_weights, expected in cases:
        got = effective_sample_size(torch.tensor(log_weights))
        assert got.item() == pytest.approx(expected, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(logs, st.floats(-1e4, 1e4))
def test_size_is_bounded_and_ignores_a_common_factor(values, shift):
    log_weights = torch.tensor(values, dtype=torch.float64)
    size = effective_sample_size(log_weights)
    assert 1 / len(values) - 1e-9 <= size <= 1 + 1e-9
    shifted = effective_sample_size(log_weights + shift)
    assert shifted.item() == pytest.approx(size.item(), rel=1e-6)
    mean = log_mean_exp(log_weights + shift) - log_mean_exp(log_weights)
    assert mean.item() == pytest.approx(shift, rel=1e-9, abs=1e-9)


def test_log_mean_exp_along_a_dimension_without_overflow():
    log_weights = torch.tensor([[1000.0, 1000.0], [-1000.0, 1000.0]])
    torch.testing.assert_close(
        log_mean_exp(log_weights, 0),
        torch.tensor([1000 - math.log(2), 1000], dtype=torch.float64),
    )


def test_log_normaliser_of_importance_sampling():
    """Uniform proposal on 50 states: within 4 of its own standard errors, which are right."""
    generator = torch.Generator().manual_seed(0)
    energies = torch.randn(50, dtype=torch.float64, generator=generator)
    exact = energies.logsumexp(0)
    draws = torch.randint(50, (400, 1000), generator=generator)
    estimates, errors = log_normaliser(energies[draws], math.log(50))
    assert abs(estimates[0] - exact) < 4 * errors[0]
    assert errors.mean().item() == pytest.approx(estimates.std().item(), rel=0.15)
    assert abs(estimates.mean() - exact) < 4 * errors.mean() / 400**0.5 + errors.mean() ** 2


def test_path_weights_of_annealing_give_the_normaliser():
    """No jumps, log p_t = t log rho: the weight of x is rho(x), whatever the grid; the mean Z/N."""
    energies = torch.tensor([0.3, -1.0, 2.0])
    work = PathIntegral(lambda x, t: energies[x[:, 0]])
    x = torch.arange(3)[:, None]
    euler(lambda x, t: torch.zeros(3, 1, 3), x, torch.linspace(0, 1, 8), hooks=[work])
    torch.testing.assert_close(work.value, energies.double(), rtol=1e-6, atol=0)
    estimate, _ = log_normaliser(work.value, math.log(3))
    assert estimate.item() == pytest.approx(energies.double().logsumexp(0).item(), rel=1e-6)
