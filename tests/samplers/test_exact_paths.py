"""Exact simulation against matrix exponentials: no step size, no bias.

Every state within 5 standard errors of its probability, 40000 chains, fixed seed.
"""

import itertools

import pytest
import torch

from jumpbench.samplers.exact_paths import gillespie, uniformisation
from jumpbench.samplers.weights import PathIntegral
from oracles import all_states

N, D, CHAINS = 3, 2, 40_000
STATES = all_states(N, D)
F64 = torch.float64


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def random_rates(seed):
    """Rates (9, D, N) out of every state, and the generator (9, 9) they make."""
    rates = torch.rand(9, D, N, dtype=F64, generator=rng(seed)) * 1.5
    generator = torch.zeros(9, 9, dtype=F64)
    for i, site, token in itertools.product(range(9), range(D), range(N)):
        if token != STATES[i, site]:
            y = STATES[i].clone()
            y[site] = token
            generator[i, y[0] * N + y[1]] = rates[i, site, token]
    return rates, generator - torch.diag(generator.sum(-1))


def index(x):
    return x[:, 0].long() * N + x[:, 1].long()


def assert_law(x, law):
    counts = torch.bincount(index(x), minlength=9) / len(x)
    assert ((counts - law).abs() <= 5 * (law * (1 - law) / len(x)).sqrt()).all()


@pytest.mark.parametrize(("start", "end"), [(0.0, 1.0), (1.0, 0.0)])
def test_uniformisation_with_rates_that_vary_in_time(start, end):
    """Rates (0.5 + 3 t^2) R, integral 1.5 over [0, 1] in either direction."""
    rates, generator = random_rates(1)

    def rate_fn(x, t):
        return rates[index(x)] * (0.5 + 3 * t**2)[:, None, None]

    x = STATES[4].expand(CHAINS, D)
    after, info = uniformisation(rate_fn, x, start, end, bound=3.5 * 6.0, generator=rng())
    assert_law(after, torch.matrix_exp(1.5 * generator)[4])
    assert (info.jumps > 0).any()
    assert info.sequential_steps > 21


def test_uniformisation_refuses_a_bound_that_is_exceeded():
    rates, _ = random_rates(1)
    with pytest.raises(ValueError, match="exceeds the bound"):
        uniformisation(lambda x, t: rates[index(x)], STATES, 0.0, 5.0, 1.0, rng())


def test_uniformisation_hook_gives_unbiased_path_integrals():
    """Constant integrand 2 over a length of 1.5: mean 3 within 5 standard errors."""
    rates, _ = random_rates(1)
    integral = PathIntegral(lambda x, t: torch.full_like(t, 2.0))
    x = STATES[0].expand(5000, D)
    uniformisation(lambda x, t: rates[index(x)], x, 0.5, 2.0, 8.0, rng(), [integral])
    spread = integral.value.std() / 5000**0.5
    assert abs(integral.value.mean() - 3.0) < 5 * spread


def test_gillespie_over_two_pieces():
    (first, generator_1), (second, generator_2) = random_rates(1), random_rates(2)

    def rate_fn(x, t):
        return torch.where((t < 0.4)[:, None, None], first[index(x)], second[index(x)])

    elapsed = PathIntegral(lambda x, t: torch.ones_like(t))
    after, info = gillespie(rate_fn, STATES[2].expand(CHAINS, D), [0.0, 0.4, 1.0], rng(), [elapsed])
    law = torch.matrix_exp(0.4 * generator_1) @ torch.matrix_exp(0.6 * generator_2)
    assert_law(after, law[2])
    assert info.sequential_steps % 8 == 0
    torch.testing.assert_close(elapsed.value, torch.ones(CHAINS, dtype=F64), rtol=0, atol=1e-5)


def test_gillespie_counts_poisson_jumps():
    """Total rate 2 * (3 - 1) * 0.7 in every state: mean and variance 2.8 t over t = 3."""
    x = torch.zeros(CHAINS, D, dtype=torch.uint8)
    after, info = gillespie(
        lambda x, t: torch.full((len(x), D, N), 0.7, dtype=F64), x, [3.0, 0.0], rng()
    )
    mean, jumps = 8.4, info.jumps.double()
    assert abs(jumps.mean() - mean) < 5 * (mean / CHAINS) ** 0.5
    # Var of the sample variance of a Poisson law: (mean + 2 mean^2) / n.
    assert abs(jumps.var() - mean) < 5 * ((mean + 2 * mean**2) / CHAINS) ** 0.5
    assert after.dtype == torch.uint8


def test_states_without_rates_are_absorbing():
    def rate_fn(x, t):
        rates = torch.zeros(len(x), D, N)
        rates[..., 0] = (x > 0).float() * 5
        return rates

    x, info = gillespie(rate_fn, STATES, [0.0, 100.0], rng())
    assert (x == 0).all()
    assert torch.equal(info.jumps, (STATES > 0).sum(-1))
    x, info = uniformisation(rate_fn, STATES, 0.0, 20.0, 10.0, rng())
    assert (x == 0).all()
