"""Blackout's times, weights, bridges, losses and last step against the released CIFAR notebooks."""

import pytest
import torch
from torch import nn

from jumpbench.methods.blackout import losses
from jumpbench.methods.blackout.model import LostUnits
from jumpbench.methods.blackout.module import Blackout
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes
from jumpbench.samplers.counts import BinomialBridge
from parity.arrays import agree, arrays

GRIDS = [(10, 15), (1000, 15), (1000, 10)]
STRIDES = (1, 2, 5)
BISECTION = 2.5e-12  # of exp(-t_k), which the notebooks solve for; 2.5e-12 exp(t_k) of t_k
LOSSES = {"instantaneous": losses.instantaneous, "finite_time": losses.finite_time}

each_grid = pytest.mark.parametrize("steps, last", GRIDS)


class Answers(nn.Module):
    """A network that answers with stored outputs and remembers what it was asked."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, *inputs):
        self.inputs = inputs
        return self.output


def grid_of(steps, last):
    return FisherTimes(steps, last), arrays("blackout", f"T{steps}_end{last}.")


def error_of_times(stored):
    """What the bisection leaves of every t_k, (T,)."""
    return BISECTION * stored["times"].exp()


def within(ours, theirs, tolerance):
    assert ours.shape == theirs.shape
    assert ((ours - theirs).abs() <= tolerance).all()


@each_grid
def test_times_are_those_of_equal_fisher_information(steps, last):
    grid, stored = grid_of(steps, last)
    within(grid.times[1:], stored["times"], error_of_times(stored))


@each_grid
def test_weights_of_the_two_losses(steps, last):
    grid, stored = grid_of(steps, last)
    error = error_of_times(stored)
    both = error + torch.cat((error.new_zeros(1), error[:-1]))  # of t_k - t_(k-1)
    # The notebooks divide by the chance 1/T of an index in the first of the two only.
    ours = steps * losses.instantaneous(grid)[1:]
    rate = stored["times"].neg().exp()
    within(ours, stored["instantaneous"], steps * (both * rate + BISECTION) + 1e-14)
    within(losses.finite_time(grid)[1:], stored["finite_time"], 2 * BISECTION)


@each_grid
@pytest.mark.parametrize("stride", STRIDES)
def test_chances_of_coming_back_in_the_order_of_generation(steps, last, stride):
    grid, stored = grid_of(steps, last)
    visited = list(grid.visits(stride))
    theirs = stored[f"bridge_stride{stride}"]
    assert theirs[-1] == 1 and (theirs > 0).all()
    # (a - b) / (1 - b) with a and b each off by a bisection, b at most exp(-t_1) = 1 - exp(-t_T).
    tolerance = 2 * BISECTION / stored["times"].flip(0)[::stride].neg().expm1().abs()
    within(grid.revival(stride)[visited], theirs, tolerance + 1e-14)


def test_law_of_the_counts_at_every_time():
    grid, stored = grid_of(10, 15)
    counts, process = torch.arange(256), PureDeath(255)
    for k, t in enumerate(grid.times):
        for column, start in enumerate((1, 7, 128, 255)):
            law = process.log_marginal(counts, t, torch.full_like(counts, start)).exp()
            agree(law.cumsum(0), stored["cdf"][k, :, column], 2e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_loss_of_a_batch_and_its_gradient(name):
    stored = arrays("blackout", "loss.")
    grid = FisherTimes(1000, 15)
    raw = stored["raw"].clone().requires_grad_()
    lost = stored["start"] - stored["left"]
    loss = (LOSSES[name](grid)[stored["index"] + 1] * losses.regression(raw, lost)).mean()
    loss = loss * (grid.steps if name == "instantaneous" else 1)
    agree(loss, stored[name], 0, relative=5e-7)
    (gradient,) = torch.autograd.grad(loss, raw)
    theirs = stored[f"{name}_gradient"]
    agree(gradient, theirs, 2e-6 * theirs.abs().max().item())


@pytest.mark.parametrize("name", LOSSES)
def test_training_step_multiplies_both_weights_by_the_number_of_times(name, monkeypatch):
    stored = arrays("blackout", "loss.")
    grid = FisherTimes(1000, 15)
    method = Blackout(Answers(stored["raw"]), PureDeath(255), grid, weight=LOSSES[name])
    drawn = stored["left"], stored["index"] + 1
    monkeypatch.setattr(Blackout, "noised", lambda self, start, generator: drawn)
    loss = method.training_step({"counts": stored["start"]}, 0)
    theirs = stored[name] * (1 if name == "instantaneous" else grid.steps)
    agree(loss, theirs, 0, relative=5e-7)


def test_what_the_network_is_asked():
    stored = arrays("blackout", "loss.")
    network = Answers(stored["raw"])
    model = LostUnits(network, FisherTimes(1000, 15), 255)
    agree(model.raw(stored["left"], stored["index"] + 1), stored["raw"], 0)
    asked, index = network.inputs
    agree(asked, stored["network_input"], 2e-5)
    assert torch.equal(index, stored["index"])


def test_last_step_of_the_bridge_brings_the_rounded_expectation_back():
    stored = arrays("blackout", "last_step.")
    x = stored["x"].to(torch.uint8)
    model = LostUnits(Answers(stored["raw"]), FisherTimes(10, 15), 255)
    after = BinomialBridge(PureDeath(255))(x, model.at, 1, 1.0, None)
    assert after.dtype == torch.uint8 and (after >= x).all()
    assert torch.equal(after.long(), stored["after"])
    assert ((stored["after"] == 255) & (x < 255)).any(), "some answers exceed the room"
