"""Trajectories: weights, bounds and the law of the sampler, against enumeration."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.dnfs.estimates import control_variate, plain_mean
from jumpbench.methods.dnfs.exact import ExactLaw, euler_matrix, sampler_law
from jumpbench.methods.dnfs.paths import (
    evidence_lower_bound,
    reverse_weights,
    sample,
    simulate_flow,
    time_grid,
)
from jumpbench.methods.dnfs.trajectories import WAYS, trajectories
from jumpbench.samplers.annealed_jumps import euler_step
from jumpbench.samplers.annealed_path import control_integrand, slope_of
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.samplers.weights import effective_sample_size, log_mean_exp
from methods.dnfs.conftest import TableFlux
from oracles import generator


def grid(n):
    return time_grid(n).double()


def test_feynman_kac_gives_the_target_for_any_rates(bits, random_flux):
    """du/dt = (R + diag(xi)) u carries eta to rho, 2000 midpoint steps (specification 4.2)."""
    u = torch.full((bits.size,), 1 / bits.size, dtype=torch.float64)
    slope, steps = slope_of(bits.target, bits.states), 2000

    def velocity(t, u):
        matrix = bits.random_matrix(t)
        times = torch.full((bits.size,), t, dtype=torch.float64)
        xi = control_integrand(slope, times, bits.flux_of(matrix))
        rates = matrix.relu()
        return rates @ u - rates.sum(0) * u + xi * u

    for k in range(steps):
        t, h = k / steps, 1 / steps
        u = u + h * velocity(t + h / 2, u + h / 2 * velocity(t, u))
    assert (u / bits.log_rho.exp() - 1).abs().max() < 1e-5


def test_weights_approach_log_z_with_the_step(bits, random_flux):
    left, trapezoid = [], []
    for n in (32, 64, 128):
        found = sampler_law(random_flux, bits.target, grid(n))
        left.append(abs(found.left_log_z - bits.log_z()))
        trapezoid.append(abs(found.log_z - bits.log_z()))
    for errors in (left, trapezoid):
        assert errors[0] / errors[1] == pytest.approx(2, abs=0.6)
        assert errors[1] / errors[2] == pytest.approx(2, abs=0.4)
    assert left[2] < 0.02


def test_exact_flow_has_equal_weights_and_the_right_law(bits, exact_flux):
    errors = []
    for n in (32, 128):
        found = sampler_law(exact_flux, bits.target, grid(n))
        assert found.ess > 1 - 1e-8
        assert abs(found.log_z - bits.log_z()) < 0.3 / n**2
        offset = -(bits.d_log_z(1.0) - bits.d_log_z(0.0)) / (2 * n)
        assert found.left_mean_log_weight - bits.log_z() == pytest.approx(float(offset), rel=0.05)
        errors.append(0.5 * float((found.law - bits.law(1.0)).abs().sum()))
    assert errors[1] < 0.02 and errors[0] / errors[1] == pytest.approx(4, abs=1)


def test_simulated_weights_are_those_of_the_exact_law(bits, random_flux):
    n, times = 4000, grid(16)
    paths = simulate_flow(random_flux, bits.target, times, n, generator(), keep_path=True)
    exact = sampler_law(random_flux, bits.target, times)
    for weights, log_z, mean in (
        (paths.log_weights, exact.log_z, exact.mean_log_weight),
        (paths.left_log_weights, exact.left_log_z, exact.left_mean_log_weight),
    ):
        error = math.sqrt((1 / float(effective_sample_size(weights)) - 1) / n)
        assert abs(float(log_mean_exp(weights)) - log_z) < 4 * error
        assert abs(float(weights.mean()) - mean) < 4 * float(weights.std()) / n**0.5
    counts = torch.bincount((paths.end * torch.tensor([8, 4, 2, 1])).sum(-1), minlength=16)
    chi2 = ((counts - n * exact.law) ** 2 / (n * exact.law)).sum()
    assert chi2 < 45  # 15 degrees of freedom: one in 10,000
    assert paths.states.shape == (17, n, 4) and paths.slopes.shape == (17, n)
    assert paths.cost.network_evaluations == 17 and paths.cost.sequential_steps == 16


def test_sandwich(bits, random_flux):
    n, times = 4000, grid(128)
    forward = simulate_flow(random_flux, bits.target, times, n, generator()).log_weights
    data = bits.states[torch.multinomial(bits.law(1.0), n, True, generator=generator(1))]
    backward = reverse_weights(random_flux, bits.target, times, data, generator(2))
    assert forward.mean() + 4 * forward.std() / n**0.5 < bits.log_z()
    assert backward.mean() - 4 * backward.std() / n**0.5 > bits.log_z()


def test_elbo_is_below_the_likelihood_of_every_state(bits, random_flux):
    times = grid(128)
    law = sampler_law(random_flux, bits.target, times).law.log()
    x = bits.states.repeat_interleave(400, 0)
    bound = evidence_lower_bound(random_flux, bits.target, times, x, generator()).view(16, -1)
    error = bound.std(1) / 20
    assert (bound.mean(1) - 4 * error < law).all()
    assert (law - bound.mean(1)).max() > 0.05


def test_elbo_of_the_exact_flow_is_tight(bits, exact_flux):
    times = grid(256)
    bound = evidence_lower_bound(exact_flux, bits.target, times, bits.states, generator())
    assert (bound - bits.law(1.0).log()).abs().max() < 1e-3


def test_euler_step_follows_its_matrix(space):
    n = 20_000
    flux = space.flux_of(space.random_matrix(0.2)).relu()
    state = int(flux.sum(-1).amax(-1).argmax())
    expected = 0.9 * flux / flux.sum(-1).max()
    expected[state, 0] *= 2  # a total above one jumps for certain
    row = euler_matrix(space.states, expected)[state]
    start, chances = space.states[state].expand(n, -1), expected[state].expand(n, -1, -1)
    x = euler_step(start, chances, generator())
    counts = torch.bincount((x * torch.tensor([9, 3, 1])).sum(-1), minlength=27)
    assert (counts[row == 0] == 0).all()
    live = row > 0
    chi2 = ((counts - n * row)[live] ** 2 / (n * row[live])).sum()
    assert chi2 < 70 and row.sum() == pytest.approx(1)


def test_sampling_without_weights_draws_the_same_numbers(bits, random_flux):
    times = grid(8)
    ends, cost = sample(random_flux, bits.target, times, 32, generator())
    paths = simulate_flow(random_flux, bits.target, times, 32, generator())
    assert torch.equal(ends, paths.end)
    assert (cost.network_evaluations, cost.energy_evaluations) == (8, 0)


def test_probe_of_the_exact_flow(bits):
    values = ExactLaw()(TableFlux(bits, bits.exact_matrix), bits.target, grid(64))
    assert values["tv"] < 0.02 and values["log_z_bias"] < 1e-4
    assert values["exact_ess"] == pytest.approx(1, abs=1e-6)
    assert values["log_z_gap"] < values["left_log_z_gap"]


def test_trajectories_of_the_exact_flow_follow_the_path_all_three_ways(bits, exact_flux):
    """Forward from the uniform law, backward from exact samples, and by chains on p_t."""
    n, shown, made = 8000, (0.0, 0.5, 1.0), generator()
    data = bits.states[torch.multinomial(bits.law(1.0), n, replacement=True, generator=made)]
    states = trajectories(
        exact_flux, bits.target, grid(128), data, SystematicGibbs(), 20, shown, made
    )
    assert states.shape == (n, 3, 3, bits.states.shape[1])
    place = (states.long()[..., None, :] == bits.states).all(-1).double().argmax(-1)
    for k, t in enumerate(shown):
        law = bits.law(t)
        for way in range(3):
            counts = torch.bincount(place[:, way, k], minlength=bits.size)
            # sum of squared standardised deviations; five of its standard deviations are allowed
            chi = float(((counts - n * law) ** 2 / (n * law)).sum())
            assert chi < bits.size + 5 * (2 * bits.size) ** 0.5, (t, way, chi)
    assert torch.equal(states[:, WAYS.index("backward"), -1].long(), data)
    still = trajectories(
        exact_flux, bits.target, grid(8), data[:9], SystematicGibbs(), 0, shown, made
    )
    forward, chains = (still[:, WAYS.index(way)] for way in ("forward", "chains"))
    assert torch.equal(chains, forward[:, :1].expand_as(chains))  # where the chains start
    late = (0.5, 1.0)  # uniform states start the chains whatever the first shown time is
    states = trajectories(exact_flux, bits.target, grid(8), data[:9], SystematicGibbs(), 0, late,
                          generator(3))  # fmt: skip
    again = trajectories(exact_flux, bits.target, grid(8), data[:9], SystematicGibbs(), 0, shown,
                         generator(3))  # fmt: skip
    assert torch.equal(states[:, WAYS.index("chains"), 0], again[:, WAYS.index("forward"), 0])
    with pytest.raises(UserError, match="must increase"):
        trajectories(exact_flux, bits.target, grid(8), data, SystematicGibbs(), 1, (1, 0.5), made)


class Broken(torch.nn.Module):
    """A flux that is no number at some sites of some states."""

    def forward(self, x, t):
        return torch.where(x[..., None] == 1, torch.nan, torch.zeros(*x.shape, 2))


def test_a_network_that_gives_no_numbers_gives_no_samples(bits):
    """Comparisons with NaN are False: such a site used to become 0, and pass for a sample."""
    times = time_grid(4)
    with pytest.raises(ValueError, match="NaN"):
        simulate_flow(Broken(), bits.target, times, 8, generator())
    with pytest.raises(ValueError, match="NaN"):
        sample(Broken(), bits.target, times, 8, generator())
    with pytest.raises(ValueError, match="NaN"):
        reverse_weights(Broken(), bits.target, times, bits.states, generator())


def test_at_exact_rates_the_plain_mean_leaves_the_variance_of_its_own_noise_in_the_loss(
    bits, exact_flux
):
    """The loss is (xi - c)^2, xi = d/dt log Z_t: nothing for c = mean xi, Var(f) / M for mean f.

    Over 400 estimates of 32 trajectories the ratio has a standard deviation of sqrt(2 / 400).
    """
    repeats, m, times = 400, 32, grid(128)
    paths = simulate_flow(exact_flux, bits.target, times, repeats * m, generator(), clamp=None)
    shape = (len(times), repeats, m)
    parts = paths.slopes.view(shape), paths.integrands.view(shape)
    exact = torch.stack([bits.d_log_z(float(t)) for t in times])[:, None]
    assert (control_variate(*parts) - exact).abs().max() < 1e-6
    squared = (plain_mean(*parts) - exact).square().mean(1)
    for k in (32, 64, 128):
        variance = bits.law(float(times[k])) @ (bits.slope - exact[k]).square()
        ratio = float(squared[k] * m / variance)
        assert abs(ratio - 1) < 4.5 * math.sqrt(2 / repeats)
