"""Figures of Blackout: drawn from artifacts, none where there are none."""

import matplotlib.pyplot as plt
import torch

from jumpbench.methods.blackout.figures import paths, sample_grids, tiled
from jumpbench.methods.blackout.process_figures import observation_times, one_site


class Filled:
    rows, columns = ["a", "b"], ["x"]

    def __init__(self, artifact):
        self._artifact = artifact

    def artifact(self, row, column):
        return self._artifact if row == "a" else None


def test_tiles_keep_every_pixel():
    images = torch.arange(4).view(4, 1, 1, 1) * torch.ones(1, 1, 2, 2)
    page = tiled(images, columns=2)
    assert page.shape == (6, 6, 3)
    assert page[0, 0, 0] == 0 and page[0, 3, 1] == 1 / 3 and page[4, 4, 2] == 1.0
    assert page[2, 2, 0] == 0.5


def test_figures_of_samples():
    artifact = {
        "images": torch.randint(0, 2, (70, 1, 4, 4)), "path": torch.randint(0, 2, (5, 3, 1, 4, 4)),
    }  # fmt: skip
    assert len(sample_grids(Filled(artifact)).axes) == 1
    assert paths(Filled(artifact), "a", "x") is not None
    assert paths(Filled(artifact), "b", "x") is None
    assert sample_grids(Filled(None)) is None
    plt.close("all")


def test_figures_of_the_process():
    left, right = observation_times(None, steps=50).axes
    times = left.lines[0].get_ydata()
    assert times[-1] == 15.0 and right.get_yscale() == "log"
    figure = one_site(None, [0.2, 0.3, 0.5], steps=30, paths=3)
    forward, reverse = (
        torch.stack([torch.tensor(line.get_ydata()) for line in axis.lines]) for axis in figure.axes
    )
    assert forward.shape == reverse.shape == (3, 30)
    assert (forward.diff(dim=1) <= 0).all() and (reverse.diff(dim=1) <= 0).all()
    assert (reverse[:, -1] == 0).all()
    plt.close("all")
