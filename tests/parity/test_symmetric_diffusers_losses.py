"""SymmetricDiffusers' losses at stored network outputs and learning rates against its release."""

import pytest
import torch

from jumpbench.methods.common.learning_rates import Cosine, Noam
from jumpbench.methods.symmetric_diffusers.distributions.inverse_insertion import move_to_end
from jumpbench.methods.symmetric_diffusers.distributions.inverse_riffle import stable_partition
from jumpbench.methods.symmetric_diffusers.losses import (
    LabelLoss,
    LatentLoss,
    squared_distances,
    transition_distances,
)
from jumpbench.methods.symmetric_diffusers.transitions import Transitions
from parity.arrays import agree, arrays
from parity.families import FAMILIES


def steps_of(stored):
    """Steps (R k, B, n) of recorded trajectories, or of one random time for every list."""
    if "earlier" in stored:
        return stored["earlier"], stored["later"]
    states = stored["states"]
    return states[:, :-1].flatten(0, 1), states[:, 1:].flatten(0, 1)


def check(stored, family, loss, tolerance, relative=0.0, distances=None):
    """Loss and gradient in the stored scores of all M = R k B steps."""
    earlier, later = steps_of(stored)
    target = Transitions(earlier, later, torch.zeros(())).target.flatten(0, 1)
    scores = stored["scores"].requires_grad_()
    # (R, k, B, ...) or, with one random step a list, (R, B, ...)
    law = family(scores.flatten(0, 1 if "earlier" in stored else 2))
    ours = loss(law, target, distances, None)
    agree(ours, stored["loss"], tolerance, relative)
    (gradient,) = torch.autograd.grad(ours, scores)
    agree(gradient, stored["gradient"], tolerance, relative)


@pytest.mark.parametrize("family", FAMILIES)
def test_label_loss_of_whole_trajectories(family):
    name = "gpl_fixed" if family == "pinned" else family
    check(arrays("symmetric_diffusers", f"loss.{name}."), FAMILIES[family], LabelLoss(), 1e-13)


@pytest.mark.parametrize("name", ["gpl", "pl"])
def test_label_loss_of_one_random_step_a_list(name):
    check(arrays("symmetric_diffusers", f"randt.{name}."), FAMILIES[name], LabelLoss(), 1e-13)


DRAWN = {  # what was drawn, as permutations
    "gpl": lambda permutations: permutations,
    "pl": lambda permutations: permutations,
    "insertion": lambda place: move_to_end(place, 6),
    "riffle": lambda left: stable_partition(~left),
}


@pytest.mark.parametrize("name", DRAWN)
def test_latent_loss_of_recorded_draws(name):
    """Distances of objects are float32 in ours."""
    stored = arrays("symmetric_diffusers", f"latent.{name}.")
    drawn = DRAWN[name](stored["drawn"]).flatten(1, 3)
    objects = arrays("symmetric_diffusers")["loss.objects"]
    earlier, later = steps_of(stored)
    distances = transition_distances(squared_distances(objects), earlier, later).flatten(0, 1)

    def law_with_draws(scores):
        law = FAMILIES[name](scores)
        law.sample = lambda generator, shape: drawn if shape == (3,) else None
        return law

    loss = LatentLoss(samples=3, entropy=0.05, memory=0.995).double()
    loss.baseline.fill_(0.125)
    check(stored, law_with_draws, loss, 1e-7, 5e-7, distances)
    agree(loss.baseline, stored["ema"], 1e-7)


def rates_of(schedule, steps=30):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    rate, rates = schedule(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        rate.step()
    return torch.tensor(rates, dtype=torch.float64)


def test_noam():
    ours = rates_of(lambda optimizer: Noam(optimizer, dim=128, warmup=10))
    agree(ours, arrays("symmetric_diffusers")["rate.noam"], 0, 1e-14)


def test_cosine():
    """Theirs takes its first step at the peak; ours is one step further down."""
    ours = rates_of(lambda optimizer: Cosine(optimizer, 2e-4, 30, floor=1e-7))
    theirs = arrays("symmetric_diffusers")["rate.cosine"]
    agree(ours[:-1], theirs[1:], 0, 1e-13)
    agree(theirs[0], 2e-4, 0, 1e-14)
