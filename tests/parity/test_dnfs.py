"""DNFS's residual, loss, trajectories, weights and estimates against its release.

A 3 x 3 Ising model, x^T J x + b^T x over ordered pairs; networks are stored tables of fluxes, set
to 0 at the current symbols as in the released code.
"""

import pytest
import torch
from torch import nn

from jumpbench.evaluations.thermodynamics import ThermodynamicsEvaluation
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.paths import time_grid
from jumpbench.samplers import annealed_jumps
from jumpbench.samplers.annealed_jumps import LEFT_END, path_sum
from jumpbench.samplers.annealed_path import PathLaw, residual_generator, slope_of
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.jumps import clear_current, jump_law, renormalise
from jumpbench.targets.ising import Ising
from jumpbench.targets.kaufman import ising_torus
from parity.arrays import agree, arrays
from parity.replay import uniforms

SIGMA, BIAS = {"weak": 0.22, "strong": 0.8}, {"weak": 0.15, "strong": 0.6}
TARGETS = {name: Ising(3, 2 * s, field=BIAS[name] / (2 * s)) for name, s in SIGMA.items()}
CLAMP, STEPS = 5.0, 8
POINTS = range(STEPS + 1)

each_target = pytest.mark.parametrize("name", TARGETS)


class Table(nn.Module):
    """A network that is asked for stored states, and answers with stored fluxes."""

    def __init__(self, states, flux):
        super().__init__()
        self.answers = iter(zip(states, flux, strict=True))

    def forward(self, x, t):
        states, flux = next(self.answers)
        assert torch.equal(x, states), "states that were not stored"
        return flux


def stored_states(name):
    return arrays("dnfs", "ising.") | arrays("dnfs", f"{name}.")


def stored_path():
    stored = arrays("dnfs", "path.")
    stored["flux"] = clear_current(stored["flux"], stored["states"])
    return stored


def loss_of(target, x, t, flux, derivative):
    """Learner.loss of stored pairs (t, x), each at a grid point k of its own, k / n_steps = t."""
    points = torch.arange(1, len(t) + 1)
    none, zeros = torch.zeros(1), torch.zeros_like(points)
    learner = Learner(Table([x], [flux]), chains=1, stored=1, batch_size=len(t), clamp=CLAMP)
    learner.store.add(
        torch.cat((x[:1], x)).unsqueeze(1), torch.cat((none, derivative)).unsqueeze(1)
    )
    learner.store.draw = lambda size, generator: (zeros, points, zeros)
    learner.target, learner.n_steps = target, points / t
    return learner.loss(torch.Generator())


def test_target_and_path():
    stored, target = stored_states("weak"), TARGETS["weak"]
    slope = slope_of(target, stored["x"])
    agree(slope.log_prob, stored["log_prob"], 5e-6)
    agree(slope.time, stored["slope"], 5e-6)
    agree(slope.ratios * stored["t"][:, None, None], stored["ratios_at_t"], 5e-6)
    one = PathLaw(target, stored["t"][3]).neighbor_log_ratios(stored["x"][3, None])
    agree(one[0], stored["ratios_at_t"][3], 5e-6)


@each_target
def test_residual_generator(name):
    stored, target = stored_states(name), TARGETS[name]
    flux = clear_current(stored["flux"], stored["x"])
    xi = residual_generator(target, stored["x"], stored["t"], flux, CLAMP)
    agree(xi, stored["xi"], 1e-6, relative=1e-6)
    squares = (xi - stored["dlogz"]).square()
    agree(squares, stored["squared_residuals"], 1e-5, relative=2e-6)
    free = residual_generator(target, stored["x"], stored["t"], flux)
    assert bool((free - xi).abs().max() > 1) == (name == "strong"), "the clamp is at work there"


@each_target
def test_loss_and_its_gradient(name):
    stored = stored_states(name)
    table = stored["flux"].requires_grad_()
    flux = clear_current(table, stored["x"])
    loss = loss_of(TARGETS[name], stored["x"], stored["t"], flux, stored["dlogz"])
    agree(loss, stored["loss"], 0, relative=1e-6)
    (gradient,) = torch.autograd.grad(loss, table)
    theirs = stored["loss_gradient"]
    agree(gradient, theirs, 1e-6 * theirs.abs().max().item())


def test_law_of_every_euler_step():
    stored = stored_path()
    for k in range(STEPS):
        dt = stored["times"][k + 1] - stored["times"][k]
        expected = dt * stored["flux"][k].relu()
        law, _ = jump_law(expected, stored["states"][k], renormalise)
        agree(law, stored["probabilities"][k], 2e-6)


def test_log_weights_of_left_ends():
    stored = stored_path()
    rows = zip(stored["states"], stored["times"], stored["flux"], strict=True)
    xi = torch.stack(
        [residual_generator(TARGETS["weak"], x, t.expand(len(x)), flux) for x, t, flux in rows]
    )
    for k in POINTS:
        ours = path_sum(xi[:k], stored["times"][: k + 1], LEFT_END)
        agree(ours, stored["weights"][k].double(), 5e-6)


def test_roll_out_of_the_learner(monkeypatch):
    """Whole: from the stored start, with numbers that lead along the stored states."""
    stored, steps = stored_path(), iter(range(STEPS))
    states, flux, times = stored["states"], stored["flux"], time_grid(STEPS)

    def fill(u, generator):
        k = next(steps)
        expected = (times[k + 1] - times[k]) * flux[k].relu()
        return u.copy_(uniforms(expected, states[k], states[k + 1], renormalise))

    monkeypatch.setattr(annealed_jumps, "fill_uniform_", fill)
    monkeypatch.setattr(annealed_jumps, "start_states", lambda target, n, generator: states[0])
    learner = Learner(Table(states, flux), STEPS, chains=16, stored=1, clamp=CLAMP)
    paths = learner.refresh(TARGETS["weak"], torch.Generator())
    assert torch.equal(paths.states, states)
    agree(paths.left_log_weights, stored["weights"][-1].double(), 5e-6)
    agree(learner.store.tensors["derivative"][0, :, 0], stored["dlogz"], 5e-6)
    assert torch.equal(learner.store.tensors["states"][0].long(), states)


def test_estimate_and_loss_of_the_same_path_under_the_strong_target():
    stored, target = stored_path(), TARGETS["strong"]
    points = []
    for x, t, flux in zip(stored["states"], stored["times"], stored["flux"], strict=True):
        points.append(residual_generator(target, x, t.expand(len(x)), flux, CLAMP))
    xi = torch.stack(points).unsqueeze(1)
    learner = Learner(nn.Identity())
    agree(learner.estimate(xi, xi)[:, 0], stored["dlogz_strong"], 1e-6, relative=1e-6)
    ours = loss_of(
        target, stored["states"][:, 0], stored["times"], stored["flux"][:, 0],
        stored["dlogz_strong"],
    )  # fmt: skip
    agree(ours, stored["loss_strong"], 0, relative=1e-6)


def test_free_energy_energy_and_entropy_of_weighted_samples():
    path, stored = stored_path(), arrays("dnfs", "metric.")
    thermodynamics = ThermodynamicsEvaluation(TARGETS["weak"])
    draws = Draws(path["states"][-1], path["weights"][-1].double())
    thermodynamics.update(draws, {})
    ours = thermodynamics.results()
    for name, theirs in stored.items():
        agree(ours[name], theirs, 5e-7)


def test_kaufman():
    for size, beta, *theirs in arrays("dnfs")["theory"].tolist():
        exact = ising_torus(int(size), beta)
        free = -exact.log_z / (beta * size**2)
        internal = exact.mean_energy / size**2
        agree((free, internal, beta * (internal - free)), theirs, 1e-13)
