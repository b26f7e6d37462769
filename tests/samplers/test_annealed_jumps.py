"""Residual, weights and roll-out of LEAPS against enumeration."""

import itertools
import math

import pytest
import torch
from scipy.stats import chi2

from jumpbench.networks.locally_equivariant import (
    LocallyEquivariantConvolution,
    LocallyEquivariantPerceptron,
)
from jumpbench.samplers.annealed_jumps import (
    LEFT_END,
    TRAPEZOIDAL,
    KernelMoves,
    annealed_rollout,
    euler_step,
    path_sum,
)
from jumpbench.samplers.annealed_path import residual_generator
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.mcmc.metropolis import SingleSiteMetropolis
from jumpbench.targets.base import Target
from oracles import all_states


class Torus(Target):
    """A clock model on a 3x3 torus, known by its log_prob only; Ising for two symbols."""

    def __init__(self, n_states=2, beta=0.28):
        super().__init__(9, n_states)
        self.beta = beta

    def log_prob(self, x):
        angle = 2 * math.pi * x.double().unflatten(-1, (3, 3)) / self.n_states
        bonds = (angle - angle.roll(1, -1)).cos() + (angle - angle.roll(1, -2)).cos()
        return self.beta * bonds.sum((-2, -1))


class Table(Target):
    """An arbitrary positive law."""

    def __init__(self, length, n_states, seed=0):
        super().__init__(length, n_states)
        generator = torch.Generator().manual_seed(seed)
        self.table = torch.randn((n_states,) * length, generator=generator, dtype=torch.float64)

    def log_prob(self, x):
        return self.table[tuple(x.unbind(-1))]


def states_of(target):
    return all_states(target.n_states, target.length)


def path_law(target, x, t):
    return (t * target.log_prob(x)).softmax(0)


def log_normaliser(target, x, t):
    return (t * target.log_prob(x) - (1 - t) * target.length * math.log(target.n_states)).logsumexp(
        0
    )


def check_stein_identity(target, network):
    """Mean of xi under rho_t = d log Z_t / dt, which is the mean of log nu plus D log N."""
    x = states_of(target)
    for t in (0.0, 0.37, 1.0):
        time = torch.full((len(x),), t, dtype=torch.float64)
        with torch.no_grad():
            flux = network(x, time)
        assert flux.abs().max() > 0.1
        mean = (path_law(target, x, t) * residual_generator(target, x, time, flux)).sum()
        exact = (path_law(target, x, t) * target.log_prob(x)).sum() + target.length * math.log(
            target.n_states
        )
        assert abs(mean - exact) < 1e-12 * max(1, abs(exact))
    step = 1e-5
    difference = log_normaliser(target, x, 1.0 - 2 * step) - log_normaliser(target, x, 1.0)
    assert abs(-difference / (2 * step) - exact) < 1e-3


def test_mean_residual_is_the_growth_of_log_z_ising():
    torch.manual_seed(0)
    network = LocallyEquivariantConvolution(9, 2, channels=8, kernel_sizes=(3, 3)).double()
    check_stein_identity(Torus(), network)


def test_mean_residual_is_the_growth_of_log_z_three_symbols():
    torch.manual_seed(1)
    check_stein_identity(Table(4, 3), LocallyEquivariantPerceptron(4, 3, hidden=16).double())


def test_residual_equals_the_explicit_generator():
    """xi = d/dt log rho - (R rho)(x) / rho(x) with the full rate matrix, three symbols."""
    target = Table(3, 3)
    torch.manual_seed(2)
    network = LocallyEquivariantPerceptron(3, 3, hidden=16).double()
    x, t = states_of(target), 0.6
    time = torch.full((len(x),), t, dtype=torch.float64)
    with torch.no_grad():
        flux = network(x, time)
    rates = torch.zeros(len(x), len(x), dtype=torch.float64)  # [to, from]
    for start in range(len(x)):
        for site, symbol in itertools.product(range(3), range(3)):
            if x[start, site] != symbol:
                end = x[start].clone()
                end[site] = symbol
                index = int((end * torch.tensor([9, 3, 1])).sum())
                rates[index, start] = flux[start, site, symbol].relu()
    rates -= torch.diag(rates.sum(0))
    law = path_law(target, x, t)
    expected = target.log_prob(x) + 3 * math.log(3) - rates @ law / law
    torch.testing.assert_close(residual_generator(target, x, time, flux), expected)


def test_weights_are_unbiased_for_any_flux_as_the_steps_shrink():
    """Enumerated, no sampling: the Euler chain's weighted law tends to rho_1, error ~ 1/K."""
    target = Table(3, 2, seed=3)
    torch.manual_seed(4)
    network = LocallyEquivariantPerceptron(3, 2, hidden=16).double()
    x = states_of(target)
    errors = []
    for n_steps in (50, 100, 200):
        dt = 1 / n_steps
        mass = torch.full((8,), 1 / 8, dtype=torch.float64)
        for k in range(n_steps):
            time = torch.full((8,), k * dt, dtype=torch.float64)
            with torch.no_grad():
                flux = network(x, time)
            jump = dt * flux.relu()
            law = jump.scatter(-1, x[..., None], 1 - jump.sum(-1, keepdim=True))
            kernel = law[:, range(3), x].prod(-1)  # [from, to]
            mass = (mass * (dt * residual_generator(target, x, time, flux)).exp()) @ kernel
        errors.append((mass - target.log_prob(x).exp()).abs().sum() / mass.sum())
    assert errors[0] < 0.1
    assert all(1.6 < a / b < 2.4 for a, b in itertools.pairwise(errors))


def test_rollout_estimates_log_z_for_an_untrained_flux():
    """10000 chains: mean weight within 4 standard errors plus 2 percent for the finite step."""
    target = Table(3, 3)
    torch.manual_seed(5)
    network = LocallyEquivariantPerceptron(3, 3, hidden=16, readout_scale=0.3).double()
    times = torch.linspace(0, 1, 33, dtype=torch.float64)
    drawn = annealed_rollout(network, target, times, 10_000, torch.Generator().manual_seed(6))
    weights = drawn.log_weights.exp()
    exact = target.log_prob(states_of(target)).logsumexp(0).exp()
    error = weights.std() / len(weights) ** 0.5
    assert 0.002 * exact < error < 0.03 * exact
    assert abs(weights.mean() - exact) < 4 * error + 0.02 * exact


class Exact:
    """A flux on one site that transports the path, and its exact residual: xi = d/dt log Z_t.

    One site of N symbols with rho_t(n) = N^(t-1) nu(n)^t: mass flows from every symbol a to every b
    at the flow K_ab = -K_ba, sum_a K_ab = d/dt p_t(b), p_t = rho_t / Z_t; F_t(a)[b] is the rate
    K_ab / p_t(a) where that is positive, else minus the rate of the way back.
    """

    def __init__(self, target):
        self.target = target

    def __call__(self, x, t):
        log_nu = self.target.log_prob(torch.arange(self.target.n_states)[:, None])
        law = (t[0] * log_nu).softmax(0)
        growth = law * (log_nu - (law * log_nu).sum())  # d/dt p_t
        flow = (growth[None, :] - growth[:, None]) / self.target.n_states  # from a to b
        flux = torch.where(flow > 0, flow / law[:, None], flow / law[None, :])
        return flux[x[:, 0]].unsqueeze(1)


def end_gap(ends, n_steps):
    """Mean log weight minus log Z of exact rates, from 20000 chains whose weights are all equal."""
    target = Table(1, 3, seed=11)
    times = torch.linspace(0, 1, n_steps + 1, dtype=torch.float64)
    drawn = annealed_rollout(
        Exact(target), target, times, 50, torch.Generator().manual_seed(0), ends=ends
    )
    assert drawn.log_weights.std() < 1e-10
    log_z = target.log_prob(states_of(target)).logsumexp(0)
    return float(drawn.log_weights.mean() - log_z), target, drawn


def test_left_end_weights_are_off_by_half_a_step_of_the_growth():
    """-dt/2 (xi_1 - xi_0), xi = d/dt log Z_t = E_t[log nu] + D log N: the sign tells the end."""
    gap, target, drawn = end_gap(LEFT_END, 64)
    log_nu = target.log_prob(states_of(target))
    growth = (log_nu.softmax(0) * log_nu).sum() - log_nu.mean()
    assert growth > 0.2
    assert abs(gap + growth / 128) < 0.03 * growth / 128
    assert drawn.cost == Cost(64, 64 * 3, 64)


def test_trapezoidal_weights_are_off_by_the_square_of_the_step():
    (coarse, *_), (fine, _, drawn) = end_gap(TRAPEZOIDAL, 16), end_gap(TRAPEZOIDAL, 32)
    assert 1e-7 < abs(fine) < 1e-3
    assert 3.8 < coarse / fine < 4.2
    assert drawn.cost == Cost(33, 33 * 3, 32)


def test_a_flux_in_half_precision_counts_as_the_float32_that_it_is():
    target, times = Table(3, 3), torch.linspace(0, 1, 9)
    torch.manual_seed(5)
    network = LocallyEquivariantPerceptron(3, 3, hidden=16)

    def half(x, t):
        return network(x, t).bfloat16()

    low, full = (
        annealed_rollout(flux, target, times, 200, torch.Generator().manual_seed(0))
        for flux in (half, lambda x, t: half(x, t).float())
    )
    assert torch.equal(low.states, full.states)
    assert torch.equal(low.log_weights, full.log_weights)


def test_sites_outside_the_mask_stay_empty():
    """Whatever a network says about them: 300 chains that all want to move everywhere."""
    x, mask = torch.zeros(300, 4, dtype=torch.long), torch.tensor([[True, True, False, False]])
    expected = torch.zeros(300, 4, 3)
    expected[..., 1:] = 0.5
    moved = euler_step(x, expected, torch.Generator().manual_seed(0), mask)
    assert (moved[:, :2] > 0).all() and (moved[:, 2:] == 0).all()
    assert set(moved[:, 0].tolist()) == {1, 2}


def test_hooks_see_every_point_that_is_evaluated():
    target, times, seen = Table(2, 2), torch.linspace(0, 1, 5), []
    torch.manual_seed(5)
    network = LocallyEquivariantPerceptron(2, 2, hidden=8)
    for ends, points in ((LEFT_END, 4), (TRAPEZOIDAL, 5)):
        seen.clear()
        drawn = annealed_rollout(
            network, target, times, 6, torch.Generator().manual_seed(0), keep_path=True,
            ends=ends, hooks=[seen.append],
        )  # fmt: skip
        assert [point.k for point in seen] == list(range(points))
        for point, xi in zip(seen, drawn.integrands, strict=True):
            assert torch.equal(point.x, drawn.states[point.k])
            again = residual_generator(target, point.x, point.t, point.flux)
            assert torch.equal(again.double(), xi)
        assert torch.equal(path_sum(drawn.integrands, times, ends), drawn.log_weights)


def test_a_flux_that_is_nan_is_an_error():
    target, times = Table(2, 2), torch.linspace(0, 1, 4)
    with pytest.raises(ValueError, match="flux or the target"):
        annealed_rollout(
            lambda x, t: torch.full((len(x), 2, 2), torch.nan), target, times, 5, torch.Generator()
        )


def test_a_target_that_is_a_module_gets_no_gradient():
    class Module(Target, torch.nn.Module):
        def __init__(self):
            torch.nn.Module.__init__(self)
            Target.__init__(self, 3, 2)
            self.layer = torch.nn.Linear(3, 1)

        def log_prob(self, x):
            return self.layer(x.float()).squeeze(-1)

    target, network = Module(), LocallyEquivariantPerceptron(3, 2, hidden=8)
    x, t = states_of(target), torch.full((8,), 0.4)
    residual_generator(target, x, t, network(x, t)).square().sum().backward()
    assert all(p.grad is None for p in target.parameters())
    assert any(p.grad is not None for p in network.parameters())


def test_metropolis_moves_leave_the_path_law_alone():
    """Chains started in rho_t stay in it: chi-square over all 27 states, p > 1e-4."""
    target, t = Table(3, 3), 0.7
    generator = torch.Generator().manual_seed(8)
    x = states_of(target)
    law = path_law(target, x, t)
    start = x[torch.multinomial(law, 20_000, replacement=True, generator=generator)]
    moves = KernelMoves(SingleSiteMetropolis(), 18)
    end, cost = moves(target, start, torch.tensor(t), generator)
    assert cost == Cost(energy_evaluations=19, sequential_steps=18)
    assert (end != start).any(-1).float().mean() > 0.8
    seen = torch.bincount((end * torch.tensor([9, 3, 1])).sum(-1), minlength=27)
    statistic = ((seen - 20_000 * law) ** 2 / (20_000 * law)).sum()
    assert chi2.sf(float(statistic), 26) > 1e-4
