"""Tour lengths and gaps of one or several tours of an instance."""

import pytest
import torch

from jumpbench.evaluations.tours import TourEvaluation
from jumpbench.samplers.draws import Draws


def scored(tours, batch):
    scores = TourEvaluation()
    scores.update(Draws(tours[:, 0], extras={"tours": tours}), scores.keep(batch))
    return scores.results()


def test_tours():
    square = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    batch = {"objects": square, "order": torch.tensor([[0, 1, 2, 3]])}
    crossed, right = [0, 2, 1, 3], [0, 3, 2, 1]
    values = scored(torch.tensor([[crossed, right]]), batch)
    assert values["tour_length"] == pytest.approx(4) and values["gap"] == pytest.approx(0)
    assert values["tour_length_first"] == pytest.approx(2 + 2 * 2**0.5)
    assert values["gap_first"] == pytest.approx(100 * (2 + 2 * 2**0.5 - 4) / 4)
    assert values["gap_mean"] == pytest.approx(values["gap_first"] / 2)
    assert values["tour_length_mean"] == pytest.approx(3 + 2**0.5)


def test_gap_is_the_mean_over_instances_not_the_ratio_of_means():
    unit = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    batch = {"objects": torch.stack([unit, 10 * unit]), "order": torch.tensor([[0, 1, 2, 3]] * 2)}
    found = torch.tensor([[[0, 2, 1, 3]], [[0, 1, 2, 3]]])  # the small square crossed
    values = scored(found, batch)
    crossed = 100 * (2 * 2**0.5 - 2) / 4
    assert values["gap"] == pytest.approx(crossed / 2)  # the ratio of the means: a sixth of it
    assert values["label_length"] == pytest.approx(22)


def test_one_tour_of_an_instance_needs_no_extras():
    points = torch.rand(3, 5, 2, generator=torch.Generator().manual_seed(0))
    order = torch.arange(5).expand(3, 5)
    scores = TourEvaluation()
    scores.update(Draws(order.flip(-1)), scores.keep({"objects": points, "order": order}))
    values = scores.results()
    assert values["gap"] == values["gap_first"] == values["gap_mean"] == pytest.approx(0, abs=1e-9)
