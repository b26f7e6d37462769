"""Scores of ordered lists: published relations, ceilings, pixel errors, tours."""

from types import SimpleNamespace

import pytest
import torch
from scipy.stats import kendalltau

from jumpbench.data.jigsaw import NoisyMnistJigsaw
from jumpbench.methods.symmetric_diffusers.evaluation import (
    JigsawScores,
    ListScores,
    TourScores,
    ceilings,
)
from jumpbench.processes.permutations import random_permutations


def lists(size, n, seed=0):
    g = torch.Generator().manual_seed(seed)
    order = random_permutations(size, n=n, generator=g)
    return {
        "objects": torch.randn(size, n, 1, 3, 3, generator=g),
        "order": order,
        "groups": torch.arange(n).expand(size, n),
    }


def scored(scores, found, batch, data=None):
    scores.update(found, batch, data)
    return {name: value.item() for name, value in scores.compute().items()}


def test_perfect_and_neighbour_swaps():
    batch = lists(200, 32)
    found = scored(ListScores(), batch["order"], batch)
    assert found["kendall_tau"] == found["kendall_tau_rank"] == 1
    assert found["accuracy"] == found["correct"] == 100 and found["n_samples"] == 200
    swapped = batch["order"].clone()
    swapped[:, :2] = batch["order"][:, :2].flip(-1)
    found = scored(ListScores(), swapped, batch)
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
    assert scored(ListScores(), found, batch)["kendall_tau"] == pytest.approx(expected / 10)


def test_batches_add_up_and_the_best_hypothesis_counts():
    batch, found = lists(12, 5), lists(12, 5, seed=1)["order"]
    whole = scored(ListScores(), found, batch)
    parts = ListScores()
    for part in (slice(0, 5), slice(5, 12)):
        some = {name: value[part] for name, value in batch.items()}
        parts.update(torch.stack([found[part], some["order"]], dim=1), some, None)
    assert {k: v.item() for k, v in parts.compute().items()} == pytest.approx(whole)


def test_ceilings():
    accuracy, correct = ceilings(
        torch.tensor([[0, 1, 2, 3], [7, 7, 7, 1], [2, 2, 5, 5], [1, 1, 1, 1]])
    )
    assert accuracy.tolist() == pytest.approx([1, 1 / 6, 1 / 4, 1 / 24])
    assert correct.tolist() == pytest.approx([1, 2 / 4, 2 / 4, 1 / 4])


def test_ordering_look_alikes_at_random_hits_the_ceiling():
    """Oracle 19, with generated digits: everything right but the order inside every group."""
    data = NoisyMnistJigsaw(4, generated=400, batch_size=4, test_size=400, test_batch_size=400)
    data.setup()
    batch = data.on_after_batch_transfer(next(iter(data.test_dataloader())), 0)
    groups = batch["groups"].gather(-1, batch["order"])  # in the right order
    found = batch["order"].clone()
    generator = torch.Generator().manual_seed(0)
    for row, g in zip(found, groups, strict=True):
        empty = (g == 16).nonzero().flatten()
        row[empty] = row[empty[torch.randperm(len(empty), generator=generator)]]
    values = scored(JigsawScores(), found, batch, data)
    # Correct: at most one right place in expectation, variance <= 1 / 16^2 per list: se < 0.32
    assert values["correct"] == pytest.approx(values["correct_ceiling"], abs=1.0)
    assert values["accuracy"] <= 1.5 + values["accuracy_ceiling"]


def test_pixel_errors_and_their_scales():
    batch = lists(70, 4)
    found = lists(70, 4, seed=1)["order"]
    data = SimpleNamespace(unit=torch.tensor([0.5]), normalised=torch.tensor([2.0]))
    values = scored(JigsawScores(), found, batch, data)
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
    data = SimpleNamespace(unit=torch.ones(1), normalised=torch.ones(1))
    values = scored(JigsawScores(), found, batch, data)
    assert values["accuracy"] == 0 and values["accuracy_pixels"] == 100


def test_tours():
    square = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    batch = {"objects": square, "order": torch.tensor([[0, 1, 2, 3]])}
    crossed, right = [0, 2, 1, 3], [0, 3, 2, 1]
    values = scored(TourScores(), torch.tensor([[crossed, right]]), batch)
    assert values["tour_length"] == pytest.approx(4) and values["gap"] == pytest.approx(0)
    assert values["tour_length_most_probable"] == pytest.approx(2 + 2 * 2**0.5)
    assert values["gap_most_probable"] == pytest.approx(100 * (2 + 2 * 2**0.5 - 4) / 4)


def test_gap_is_the_mean_over_instances_not_the_ratio_of_means():
    unit = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    batch = {"objects": torch.stack([unit, 10 * unit]), "order": torch.tensor([[0, 1, 2, 3]] * 2)}
    found = torch.tensor([[[0, 2, 1, 3]], [[0, 1, 2, 3]]])  # the small square crossed
    values = scored(TourScores(), found, batch)
    crossed = 100 * (2 * 2**0.5 - 2) / 4
    assert values["gap"] == pytest.approx(crossed / 2)  # the ratio of the means: a sixth of it
    assert values["label_length"] == pytest.approx(22)
