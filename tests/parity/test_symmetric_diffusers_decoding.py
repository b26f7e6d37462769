"""SymmetricDiffusers' decoders, tours and scores of ordered lists against its release."""

import pytest
import torch

from jumpbench.evaluations.lists import JigsawEvaluation
from jumpbench.evaluations.tours import TourEvaluation
from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseTransposition,
)
from jumpbench.methods.symmetric_diffusers.sampler import Beam, Greedy, hierarchical_beam
from jumpbench.processes.permutations import identity
from jumpbench.samplers.draws import Draws
from jumpbench.solvers.tours import tour_length
from parity.arrays import agree, arrays
from parity.families import FAMILIES

SCHEDULE = [0, 2, 3, 4]
LISTS, N = 4, 6


@pytest.mark.parametrize("name", ["gpl", "pl", "insertion", "riffle", "transposition"])
def test_greedy(name):
    stored = arrays("symmetric_diffusers", f"greedy.{name}.")
    if name == "transposition":
        law = InverseTransposition(stored["scores"], -stored["logit_unchanged"])
        assert (stored["perm"] == torch.arange(N)).all(-1).any(), "some stay"
    else:
        law = FAMILIES[name](stored["scores"])
    assert torch.equal(law.greedy(), stored["perm"])


@pytest.mark.parametrize("name", ["gpl_long", "gpl_long_wide"])
def test_greedy_of_twenty_objects(name):
    stored = arrays("symmetric_diffusers", f"{name}.")
    assert torch.equal(GeneralisedPlackettLuce(stored["scores"]).greedy(), stored["greedy"])


@pytest.mark.parametrize("name", ["gpl", "pl", "fixed"])
def test_inner_beam(name):
    family = FAMILIES["pinned" if name == "fixed" else name]
    stored = arrays("symmetric_diffusers", f"beam.{name}.")
    found = family(stored["scores"]).beam(10)
    assert torch.equal(found.permutations, stored["perm"])
    agree(found.log_probs, stored["log_prob"], 1e-13)


def chain(name):
    """Laws along a chain whose scores depend on the state x and on the time's number k:
    GPL S[i, j] = A[k, i, x_j] + C[k, j, x_i], else s_j = A[k, j, x_j] + C[k, x_0, j]."""
    stored = arrays("symmetric_diffusers", f"chain.{name}.")

    def law_at(x, time):
        k = SCHEDULE.index(time) - 1
        a, c, places = stored["A"][k], stored["C"][k], torch.arange(N)
        if name in ("gpl", "tour"):
            own = a[places[:, None], x.unsqueeze(-2)]
            scores = own + c[places, x.unsqueeze(-1)]
        else:
            scores = c[x[..., 0]].clone()
            scores[..., :N] += a[places, x]
        return FAMILIES["pinned" if name == "tour" else name](scores)

    return law_at, stored, identity(LISTS, 1, n=N)


@pytest.mark.parametrize("name", ["gpl", "pl", "tour", "insertion", "riffle", "transposition"])
def test_greedy_chain(name):
    law_at, stored, start = chain(name)
    ours = Greedy()(law_at, SCHEDULE, start, torch.Generator())
    assert torch.equal(ours.squeeze(1), stored["greedy"])


@pytest.mark.parametrize("name", ["gpl", "pl", "tour"])
def test_beam_over_a_chain(name):
    law_at, stored, start = chain(name)
    found = hierarchical_beam(law_at, SCHEDULE, start, 10, 6)
    agree(found.log_probs, stored["log_prob"], 1e-13)
    tours = Beam(10, 6)(law_at, SCHEDULE, start, torch.Generator())
    assert torch.equal(tours, found.permutations)
    if name != "tour":
        assert torch.equal(tours, stored["beam"])
        assert torch.equal(tours[:, 0], stored["best"])
        return
    # The best tour is the shortest of the hypotheses, not the most probable one.
    lengths = tour_length(stored["points"].unsqueeze(1), tours)
    shortest = tours[torch.arange(LISTS), lengths.argmin(1)]
    assert torch.equal(shortest, stored["best"])
    scores = TourEvaluation()
    kept = {"points": stored["points"], "order": stored["best"]}
    scores.update(Draws(tours[:, 0], extras={"tours": tours}), kept)
    assert scores.results()["gap"] == 0 < scores.results()["gap_mean"]


def test_lengths_of_tours():
    stored = arrays("symmetric_diffusers", "tour.")
    ours = tour_length(stored["points"], stored["order"])
    agree(ours, stored["length"], 1e-13)
    agree(ours, stored["length_closed"], 1e-13)


def test_scores_of_ordered_lists():
    stored = arrays("symmetric_diffusers", "metric.")
    scores, count = JigsawEvaluation(), len(stored["order"])
    ones = torch.ones(count, 1)
    everything = {"order": stored["order"], "groups": stored["order"], "objects": stored["objects"]}
    everything |= {"unit": ones, "normalised": ones}
    for part in (slice(0, 64), slice(64, count)):
        kept = {name: value[part] for name, value in everything.items()}
        scores.update(Draws(stored["predicted"][part]), kept)
    ours = scores.results()
    agree(ours["kendall_tau"], stored["mean_kendall_tau"], 1e-14)
    agree(ours["accuracy"], 100 * stored["permutation_accuracy"], 1e-12)
    agree(ours["correct"], 100 * stored["permutation_prop_correct_pieces"], 1e-12)
    agree(ours["accuracy_pixels"], 100 * stored["pixel_wise_accuracy"], 1e-12)
    agree(ours["correct_pixels"], 100 * stored["pixel_wise_prop_correct_pieces"], 1e-12)
    agree(ours["rmse"], stored["mean_rmse"], 1e-14)
    agree(ours["mae"], stored["mean_l1"], 1e-14)
