"""Scores of ordered lists: published relations, ceilings, pixel errors; shards add up."""

import pytest
import torch
from scipy.stats import kendalltau

from jumpbench.data.jigsaw import NoisyMnistJigsaw
from jumpbench.evaluations.lists import JigsawEvaluation, ListEvaluation, SequenceEvaluation
from jumpbench.processes.permutations import random_permutations
from jumpbench.samplers.draws import Draws


def lists(size, n, seed=0):
    g = torch.Generator().manual_seed(seed)
    order = random_permutations(size, n=n, generator=g)
    return {
        "objects": torch.randn(size, n, 1, 3, 3, generator=g),
        "order": order,
        "groups": torch.arange(n).expand(size, n),
        "unit": torch.ones(size, 1),
        "normalised": torch.ones(size, 1),
    }


def scored(scores, found, batch):
    scores.update(Draws(found), scores.keep(batch))
    return scores.results()


def test_perfect_and_neighbour_swaps():
    batch = lists(200, 32)
    found = scored(ListEvaluation(), batch["order"], batch)
    assert found["kendall_tau"] == found["kendall_tau_rank"] == 1
    assert found["accuracy"] == found["correct"] == 100
    swapped = batch["order"].clone()
    swapped[:, :2] = batch["order"][:, :2].flip(-1)
    found = scored(ListEvaluation(), swapped, batch)
    assert found["accuracy"] == 0 and found["correct"] == pytest.approx(100 * 30 / 32)
    # Oracle 20 and spec section 8: a swap of neighbours costs 4 / (n (n - 1)) in ranks, and
    # about 2 (2n / 3) / (n (n - 1) / 2) in indices (standard error over 200 lists: 0.002)
    assert found["kendall_tau_rank"] == pytest.approx(1 - 4 / (32 * 31))
    assert found["kendall_tau"] == pytest.approx(1 - 2 * (2 * 32 / 3) / (32 * 31 / 2), abs=0.01)
    assert found["kendall_tau"] < found["kendall_tau_rank"]


def test_tau_is_scipys_on_the_index_arrays():
    batch = lists(10, 7)
    found = lists(10, 7, seed=1)["order"]
    expected = sum(kendalltau(g, h).statistic for g, h in zip(batch["order"], found, strict=True))
    assert scored(ListEvaluation(), found, batch)["kendall_tau"] == pytest.approx(expected / 10)


def test_shards_add_up_whatever_their_sizes():
    batch, found = lists(150, 5), lists(150, 5, seed=1)["order"]
    whole = scored(JigsawEvaluation(), found, batch)
    parts = JigsawEvaluation()
    for part in (slice(0, 5), slice(5, 12), slice(12, 150)):
        some = {name: value[part] for name, value in batch.items()}
        parts.update(Draws(found[part]), parts.keep(some))
    assert parts.results() == pytest.approx(whole, rel=1e-12)
    parts.reset()
    assert scored(parts, found, batch) == whole


def test_what_is_no_ordering_is_refused():
    with pytest.raises(ValueError, match="index array of an ordered list"):
        scored(ListEvaluation(), torch.tensor([[0, 0, 1]]), lists(1, 3))


def test_sequences_are_compared_with_the_ordered_list():
    objects = torch.tensor([[2, 0, 1], [0, 1, 2], [1, 2, 0]])
    batch = {"objects": objects, "order": objects.argsort(-1)}  # ordered: 0 1 2
    drawn = torch.tensor([[0, 1, 2], [1, 0, 2], [0, 0, 2]])
    values = scored(SequenceEvaluation(), drawn, batch)
    assert values == pytest.approx(
        {"accuracy": 100 / 3, "correct": 100 * 6 / 9, "valid": 100 * 2 / 3}
    )


def test_ordering_look_alikes_at_random_hits_the_ceiling():
    """Oracle 19, with generated digits: everything right but the order inside every group."""
    data = NoisyMnistJigsaw(4, generated=400, train_batch_size=4, n_samples=400, batch_size=400)
    data.setup()
    batch = data.on_after_batch_transfer(next(iter(data.test_dataloader())), 0)
    groups = batch["groups"].gather(-1, batch["order"])  # in the right order
    found = batch["order"].clone()
    generator = torch.Generator().manual_seed(0)
    for row, g in zip(found, groups, strict=True):
        empty = (g == 16).nonzero().flatten()
        row[empty] = row[empty[torch.randperm(len(empty), generator=generator)]]
    values = scored(JigsawEvaluation(), found, batch)
    # Correct: at most one right place in expectation, variance <= 1 / 16^2 per list: se < 0.32
    assert values["correct"] == pytest.approx(values["correct_ceiling"], abs=1.0)
    assert values["accuracy"] <= 1.5 + values["accuracy_ceiling"]


def test_pixel_errors_and_their_scales():
    batch = lists(70, 4)
    found = lists(70, 4, seed=1)["order"]
    batch |= {"unit": torch.full((70, 1), 0.5), "normalised": torch.full((70, 1), 2.0)}
    values = scored(JigsawEvaluation(), found, batch)
    take = torch.arange(70).unsqueeze(1)
    difference = batch["objects"][take, found] - batch["objects"][take, batch["order"]]
    parts = difference.split(64)  # the published reduction: batches of 64, then their mean
    assert values["rmse"] == pytest.approx(
        sum(p.square().mean().sqrt().item() for p in parts) / 2, rel=1e-5
    )
    assert values["mae"] == pytest.approx(sum(p.abs().mean().item() for p in parts) / 2, rel=1e-5)
    assert values["mae_unit"] == pytest.approx(values["mae"] / 2, rel=1e-5)
    assert values["rmse_normalised"] == pytest.approx(values["rmse"] * 2, rel=1e-5)


def test_identical_pieces_may_change_places_in_the_pixel_version():
    batch = lists(1, 3)
    batch["objects"][0, 1] = batch["objects"][0, 2]
    found = batch["order"].clone()
    found[batch["order"] == 1], found[batch["order"] == 2] = 2, 1
    values = scored(JigsawEvaluation(), found, batch)
    assert values["accuracy"] == 0 and values["accuracy_pixels"] == 100
