"""LEAPS's path, networks, loss and weights against its release, in float64.

The released roll-out is compared in ``test_leaps_rollout.py``.
"""

import math
from functools import partial

import pytest
import torch
from torch import nn

from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.unnormalised.leaps import LEAPS
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.locally_equivariant import LocallyEquivariantConvolution
from jumpbench.samplers.annealed_path import PathLaw, control_integrand, slope_of
from jumpbench.samplers.weights import effective_sample_size
from parity.arrays import agree, arrays, with_weights
from parity.leaps_arrays import SIZE, TARGETS, sites, stored, table

T = arrays("leaps")["t"]
INNER = (slice(1, SIZE - 1), slice(1, SIZE - 1))

each_model = pytest.mark.parametrize("name", TARGETS)


@each_model
def test_energies_along_the_path(name):
    found, target = stored(name), TARGETS[name]
    x = sites(found["x"])
    slope = slope_of(target, x)
    start = -math.log(target.n_states) * target.length
    agree(-T * slope.log_prob, found["energy"], 1e-13)
    agree(-(slope.time + start), found["slope"], 1e-13)
    change = -PathLaw(target, T[:, None, None]).neighbor_log_ratios(x)
    agree(change, table(name, found["neighbour_energy"], x), 1e-13)


def network(name):
    """The released weights: its first layer's matrix is diagonal where it mixes channels."""
    weights = {key.removeprefix("weight."): value for key, value in stored(name).items()
               if key.startswith("weight.")}  # fmt: skip
    static = weights.pop("static").unflatten(1, (3, 3)).squeeze(-1)  # (C, k, k)
    if name == "ising":
        weights["first.weight"] = static.unsqueeze(1)
        weights["symbols"] = weights["symbols"][:, :1]  # one value a spin, once for all channels
    else:
        weights["first.weight"] = torch.diag_embed(static.permute(1, 2, 0)).permute(2, 3, 0, 1)
    n_states = TARGETS[name].n_states
    ours = LocallyEquivariantConvolution(SIZE**2, n_states, 3, (3, 5, 3)).double()
    return with_weights(ours, weights)


@each_model
@torch.no_grad()
def test_network(name):
    """As the release would compute it with the periodic padding that it asks for; with the zeros
    that it pads with, sites are the same whose first kernel does not reach beyond the edge."""
    found = stored(name)
    x = sites(found["x"])
    flux = network(name)(x, T)
    periodic = table(name, found["flux_circular"], x)
    assert periodic.abs().max() > 0.5
    agree(flux, periodic, 1e-13)
    padded = table(name, found["flux"], x)
    difference = (flux - padded).abs().amax(-1).view(-1, SIZE, SIZE)
    assert difference[:, *INNER].max() < 1e-13
    assert difference.max() > 1e-3


def test_potts_network_reads_out_without_growing():
    assert network("ising").readout.growing and not network("potts").readout.growing


def test_free_energy():
    weights = arrays("leaps", "free_energy.weight.")
    ours = with_weights(FreeEnergy(hidden=7, depth=4).double(), weights)
    agree(ours.derivative(T), arrays("leaps")["free_energy.derivative"], 1e-13)
    value = arrays("leaps")["free_energy.value"]
    agree((ours(T) - value).diff(), torch.zeros(len(T) - 1), 1e-13)  # its last bias is a constant


class Stored(nn.Module):
    """A network whose output, or derivative, is a stored tensor."""

    def __init__(self, values):
        super().__init__()
        self.values = values

    def forward(self, x, t):
        return self.values

    def derivative(self, t):
        return self.values


@each_model
def test_training_step_and_its_gradients(name, monkeypatch):
    found, target = stored(f"{name}.loss"), TARGETS[name]
    x, t = sites(found["x"]), found["t"]
    flips = found["flux"].clone().requires_grad_()
    derivative = found["derivative"].clone().requires_grad_()
    # Our path starts at Z_0 = 1: d/dt log Z_t has D log N more, and -dF/dt, too.
    volume = target.length * math.log(target.n_states)
    method = LEAPS(
        target=target, network=lambda **_: Stored(table(name, flips, x)),
        free_energy=lambda **_: Stored(derivative - volume), n_steps=2, n_chains=2,
        optimizer=partial(torch.optim.Adam, lr=1e-3), evaluation=TargetEvaluation(target),
    )  # fmt: skip
    monkeypatch.setattr(method, "_refresh", lambda slot: None)
    monkeypatch.setattr(method, "_points", lambda filled: (x, t))
    monkeypatch.setattr(method, "log", lambda *_: None)
    loss = method.training_step(None, 0)
    agree(loss, found["value"], 0, relative=1e-12)
    gradients = torch.autograd.grad(loss, (flips, derivative))
    for ours, name_ in zip(gradients, ("flux", "derivative"), strict=True):
        theirs = found[f"{name_}_gradient"]
        agree(ours, theirs, 1e-12 * theirs.abs().max().item())


@each_model
def test_weights_of_a_step(name):
    found, target = stored(f"{name}.loss"), TARGETS[name]
    x, t = sites(found["x"]), found["t"]
    slope = slope_of(target, x)
    xi = control_integrand(slope, t, table(name, found["flux"], x))
    xi = xi - target.length * math.log(target.n_states)
    agree(slope.log_prob - xi, found["corrector"], 1e-12, relative=1e-12)
    after = found["weight_before"] + found["dt"] * xi
    agree(after, found["weight_after"], 1e-12, relative=1e-12)
    agree(effective_sample_size(after), found["ess"], 1e-12)
