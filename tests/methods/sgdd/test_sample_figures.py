"""Figures of samples: what they show, and nothing where there is nothing."""

import matplotlib.pyplot as plt
import pytest
import torch

from jumpbench.methods.sgdd.problems.infill import box_mask
from jumpbench.methods.sgdd.sample_figures import (
    boxed_digit,
    gibbs_iterations,
    piano_rolls,
    reconstructions,
)
from support import OwnHeads


class Table(OwnHeads):
    def __init__(self, artifacts, rows=("SGDD", "SMC"), columns=("XOR", "AND")):
        self.artifacts, self.rows, self.columns = artifacts, rows, columns

    def artifact(self, row, column):
        return self.artifacts.get((row, column))


@pytest.fixture(autouse=True)
def closed():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def bits(*shape):
    return torch.randint(2, shape, generator=torch.Generator().manual_seed(0))


def shown(axis):
    return torch.as_tensor(axis.images[0].get_array())


def test_reconstructions_lie_below_the_truth():
    truth, samples = bits(5, 16), bits(2, 5, 16)
    table = Table(
        {
            ("SGDD", "XOR"): {"truth": truth, "samples": samples[0]},
            ("SMC", "XOR"): {"truth": truth, "samples": samples[1]},
        }
    )
    figure = reconstructions(table, count=4)
    (axis,) = figure.axes
    page = shown(axis)[..., 0].view(3, 5, 4, 5)[:, :4, :, :4]  # line, row, image, column
    for line, expected in zip(page, (truth, *samples), strict=True):
        assert torch.equal(line.transpose(0, 1).reshape(4, 16), expected[:4].float())
    assert [label.get_text() for label in axis.get_yticklabels()] == ["truth", "SGDD", "SMC"]
    assert reconstructions(Table({})) is None


def test_colour_images_are_shown_in_place_of_codes():
    pixels = torch.randint(256, (3, 3, 8, 8), dtype=torch.uint8)
    artifact = {"truth": pixels, "images": pixels, "samples": bits(3, 4)}
    figure = reconstructions(Table({("SGDD", "XOR"): artifact}), columns=["XOR"])
    assert shown(figure.axes[0]).shape == (18, 27, 3)


def test_iterations_and_boxes():
    artifact = {"truth": bits(2, 16), "path": bits(2, 6, 2, 16)}
    table = Table({("SGDD", "XOR"): artifact})
    figure = gibbs_iterations(table, "SGDD", "XOR", steps=3)
    assert shown(figure.axes[0]).shape == (4 * 5, 4 * 5, 3)
    first_z = shown(figure.axes[0])[:4, 5:9, 0]
    assert torch.equal(first_z, artifact["path"][0, 0, 1].view(4, 4).float())
    assert gibbs_iterations(table, "SMC", "XOR") is None
    box = {"truth": bits(9, 16), "samples": bits(9, 16), "observed": box_mask(4, (1, 2), (1, 2))}
    box["labels"] = torch.tensor([4, 4, 4, 4, 4, 4, 4, 4, 9])
    figure = boxed_digit(Table({("SGDD", "a 9"): box}), "SGDD", "a 9", count=2)
    page = shown(figure.axes[0])[:4, : 4 * 5, 0]
    assert bool((page[1:3, 6:8] == 0.5).all()) and not bool((page[:, :4] == 0.5).any())
    assert torch.equal(page[:, 15:19], box["samples"][8].view(4, 4).float())  # the rare class too
    assert boxed_digit(table, "SGDD", "XOR") is None


def test_piano_rolls():
    notes = torch.tensor([[60, 60, 128, 62], [64, 65, 65, 128]])
    observed = torch.tensor([True, False, True, False])
    artifact = {"truth": notes, "samples": notes, "observed": observed}
    figure = piano_rolls(Table({("SGDD", "XOR"): artifact}))
    assert len(figure.axes) == 2 and len(figure.axes[0].patches) == 4  # two lines, two shades
    assert piano_rolls(Table({})) is None
