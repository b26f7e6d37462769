"""Figures of Blackout: drawn from artifacts, none where there are none."""

import matplotlib.pyplot as plt
import pytest
import torch

from jumpbench.methods.blackout.figures import paths, sample_grids
from jumpbench.methods.blackout.process_figures import (
    noised_image,
    observation_times,
    one_gaussian_site,
    one_site,
)
from jumpbench.methods.common.pictures import tiled
from support import OwnHeads


class Filled(OwnHeads):
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
    figure = sample_grids(Filled(artifact), ["a"], captions={"a": "black by the rule", "b": "no"})
    assert [axis.get_title() for axis in figure.axes] == ["a\nblack by the rule"]
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


def test_gaussian_paths_stay_beside_those_of_counts():
    figure = one_gaussian_site(None, [0.2, 0.3, 0.5], steps=30, paths=3)
    for axis in figure.axes:
        lines = torch.stack([torch.tensor(line.get_ydata()) for line in axis.lines])
        assert lines.shape == (3, 30) and lines.isfinite().all()
        assert lines[:, 0].abs().max() < 1.5  # near the data at k = 1, forward and back
    plt.close("all")


def pictures(figure):
    """The noised images of a figure, (2, 9, 3, 4, 4)."""
    page = torch.tensor(figure.axes[0].images[0].get_array())
    return page.view(2, 5, 9, 5, 3)[:, :4, :, :4].permute(0, 2, 4, 1, 3)


def test_an_image_fades_or_drowns():
    image = torch.full((1, 3, 4, 4), 200)
    image[:, :, 0] = 40
    table = Filled({"images": image})
    gaussian, blackout = pictures(noised_image(table, "a", "x"))
    first = image[0] / 255
    assert (blackout[0] - first).abs().max() < 0.02 and (gaussian[0] - first).abs().max() < 0.1
    means = blackout.mean((1, 2, 3))
    assert (means.diff() <= 0).all() and means[-1] == 0 and abs(means[4] - first.mean() / 2) < 0.1
    assert gaussian[-1].std() > 0.3
    stretched = pictures(noised_image(table, "a", "x", stretched=True))
    assert (stretched[1, 5].amax() == 1) and (stretched[1, 5].amin() == 0)
    assert noised_image(table, "b", "x") is None
    plt.close("all")


def test_more_images_than_are_shown_come_from_the_samples():
    few, all_of_them = torch.zeros(4, 1, 2, 2), torch.ones(9, 1, 2, 2)
    figure = sample_grids(Filled({"images": few, "samples": all_of_them}), side=3)
    page = torch.tensor(figure.axes[0].images[0].get_array())
    assert page.shape[0] == 9 and page[0, 0, 0] == 1
    plt.close("all")


def test_all_kept_times_of_a_path_are_shown_and_may_be_stretched():
    path = torch.zeros(2, 5, 1, 2, 2)
    path[:, 4] = 102
    path[:, 4, :, 0] = 51
    page = paths(Filled({"path": path}), "a", "x").axes[0].images[0].get_array()
    assert page.shape[:2] == (6, 15)  # white is 255, so that a dark path stays dark
    assert float(page[0, 12, 0]) == pytest.approx(0.2) and float(page[1, 12, 0]) == pytest.approx(
        0.4
    )
    page = paths(Filled({"path": path}), "a", "x", stretched=True).axes[0].images[0].get_array()
    assert page[0, 12, 0] == 0.0 and page[1, 12, 0] == 1.0
    plt.close("all")
