"""Samples for figures: what is shown, and the mean on the way back against the forward law."""

import torch

from jumpbench.evaluations.pictures import PictureEvaluation
from jumpbench.processes.observation_times import FisherTimes
from jumpbench.samplers.draws import Draws


def test_the_way_back_is_compared_with_what_would_be_left():
    grid = FisherTimes(20, 10.0)
    keep = (20, 12, 0)
    samples = torch.randint(0, 9, (6, 2, 4, 4), generator=torch.Generator().manual_seed(0))
    left = grid.survival[[20, 12, 0]].view(1, 3, 1, 1, 1)
    path = left * samples.unsqueeze(1)
    judge = PictureEvaluation(grid, 8, keep, shown=4)
    for part in (slice(0, 4), slice(4, 6)):
        judge.update(Draws(samples[part], extras={"path": path[part]}), {})
    values = judge.results()
    assert values["mean"] == float(samples.double().mean() / 8)
    assert values["lit"] == float((samples > 0).double().mean())
    assert values["path_error"] < 1e-7
    assert judge.artifacts()["images"].shape == (4, 2, 4, 4)
    assert judge.artifacts()["path"].shape == (4, 3, 2, 4, 4)
    judge.reset()
    judge.update(Draws(samples, extras={"path": torch.stack([samples] * 3, 1)}), {})
    gap = float(1 - grid.survival[20]) * values["mean"]
    assert abs(judge.results()["path_error"] - gap) < 1e-7


def test_images_alone_have_no_way_back():
    judge = PictureEvaluation(FisherTimes(20), 1)
    judge.update(Draws(torch.zeros(3, 1, 2, 2, dtype=torch.uint8)), {})
    assert judge.results() == {"mean": 0.0, "lit": 0.0}
    assert "path" not in judge.artifacts()
