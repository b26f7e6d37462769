"""SymmetricDiffusers' transformers, training step and decoders against its release.

Sorting of pictures by one score each and by a matrix of scores, jigsaws, and tours.
"""

from functools import partial

import pytest
import torch

from jumpbench.methods.symmetric_diffusers.module import SymmetricDiffuser
from jumpbench.methods.symmetric_diffusers.sampler import Beam, Greedy
from jumpbench.methods.symmetric_diffusers.transitions import Transitions
from jumpbench.networks.object_encoders import NumberEncoder, PieceEncoder
from jumpbench.networks.permutation_transformer import (
    PairScores,
    PermutationTransformer,
    TokenScores,
)
from jumpbench.networks.tour_transformer import TourTransformer
from jumpbench.processes.permutations import apply, inverse
from jumpbench.processes.shuffles import Riffle
from jumpbench.solvers.tours import tour_length
from parity.arrays import agree, arrays, with_weights
from parity.families import FAMILIES

SIZES = {"dim": 16, "heads": 2, "hidden": 20, "dropout": 0.0}
LISTS = partial(PermutationTransformer, layers=2, **SIZES)
NUMBERS = partial(NumberEncoder, dim=16, channels=(3, 4), image=(8, 16))
PIECES = partial(PieceEncoder, image=15, pieces=2, channels=3, dim=16, filters=3)
NETWORKS = {
    "sort_pl": lambda: LISTS(NUMBERS(), TokenScores(16, hidden=20)),
    "sort_gpl": lambda: LISTS(NUMBERS(), PairScores()),
    "jigsaw": lambda: LISTS(PIECES(), PairScores()),
    "tour": lambda: TourTransformer(PairScores(pin_first=True), layers=4, **SIZES),
}
LAWS = {"sort_pl": "pl", "sort_gpl": "gpl", "tour": "gpl"}
SCHEDULE = [0, 2, 4, 6]
# Where the stored gradient of a training step is taken.
LEARNED = {"sort_pl": "encoder.head.weight", "sort_gpl": "encoder.head.weight"}
LEARNED["tour"] = "cross.1.feed_forward.0.weight"

each_network = pytest.mark.parametrize("name", NETWORKS)
each_method = pytest.mark.parametrize("name", LAWS)


def network(name):
    weights = arrays("symmetric_diffusers_networks", f"{name}.weight.")
    return with_weights(NETWORKS[name](), weights)


def scores_of(model, objects, states, times):
    """Scores (S, B, ...) of lists of ``objects`` (B, n, ...) in ``states`` (S, B, n)."""
    tokens = model.encode(objects)
    lists = apply(states, tokens.expand(len(states), *tokens.shape)).flatten(0, 1)
    return model(lists, times.flatten()).unflatten(0, states.shape[:2])


def method(name):
    decoders = {"greedy": Greedy()}
    return SymmetricDiffuser(
        network(name), FAMILIES[LAWS[name]], Riffle, SCHEDULE, decoders, torch.optim.SGD,
        fixed=int(name == "tour"),
    )  # fmt: skip


@each_network
@torch.no_grad()
def test_scores_in_evaluation(name):
    stored = arrays("symmetric_diffusers_networks", f"{name}.")
    states = stored["perm"].transpose(0, 1)
    times = stored["t"].expand(states.shape[:2])
    ours = scores_of(network(name), stored["objects"], states, times).transpose(0, 1)
    agree(ours, stored["output_pinned" if name == "tour" else "output"], 2e-5)
    if name == "tour":
        possible = stored["output_pinned"] > -torch.inf
        assert torch.equal(stored["output"][possible], stored["output_pinned"][possible])


@pytest.mark.parametrize("name", ["sort_pl", "jigsaw"])
@torch.no_grad()
def test_scores_in_training(name):
    """With the statistics of the batch."""
    stored = arrays("symmetric_diffusers_networks", f"{name}.")
    states, theirs = (stored[f"train_{part}"].flatten(0, 1) for part in ("perm", "output"))
    times = stored["train_t"].repeat(2).unsqueeze(1).expand(states.shape[:2])
    ours = scores_of(network(name).train(), stored["objects"], states, times)
    agree(ours, theirs, 2e-5)


@each_method
def test_training_step(name, monkeypatch):
    """The lists are presented in another order than the ordered one that trajectories start at."""
    stored = arrays("symmetric_diffusers_networks", f"{name}.")
    states = stored["step.states"]
    times = torch.tensor(SCHEDULE[1:]).view(1, 3, 1).expand(2, 3, states.shape[2])
    moved = Transitions(
        states[:, :-1].flatten(0, 1), states[:, 1:].flatten(0, 1), times.flatten(0, 1)
    )
    learner = method(name).train()
    monkeypatch.setattr(learner, "draw_transitions", lambda lists, n, generator: moved)
    shown = torch.tensor([[3, 1, 0, 4, 2], [4, 3, 2, 1, 0], [0, 2, 1, 3, 4]])
    batch = {"objects": apply(shown, stored["objects"]), "order": inverse(shown)}
    loss = learner.training_step(batch, 0)
    agree(loss, stored["step.loss"], 0, 2e-6)
    (gradient,) = torch.autograd.grad(loss, learner.network.get_parameter(LEARNED[name]))
    theirs = stored["step.gradient"]
    # Scores of tours are near 16 and differ by hundredths, of which float32 keeps four digits.
    share = 1e-4 if name == "tour" else 5e-6
    agree(gradient, theirs, share * theirs.abs().max().item())


@each_method
@torch.no_grad()
def test_decoders(name):
    stored = arrays("symmetric_diffusers_networks", f"{name}.decode.")
    batch = {"objects": stored["objects"], "order": stored["greedy"]}
    learner, generator = method(name).eval(), torch.Generator()
    greedy = learner.decode(batch, Greedy(), generator)[:, 0]
    assert torch.equal(greedy, stored["greedy"])
    found = learner.decode(batch, Beam(12, 6), generator)
    best = found[:, 0]
    if name == "tour":  # the shortest of all hypotheses
        lengths = tour_length(stored["objects"].unsqueeze(1), found)
        best = found[torch.arange(len(found)), lengths.argmin(1)]
    assert torch.equal(best, stored["beam"])
