"""Figures of DNFS: what is drawn, and nothing where there are no samples."""

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.patches import Rectangle

from jumpbench.data.ising_samples import lattice_couplings
from jumpbench.methods.dnfs.figures import _bins, couplings, energies, estimators, trajectories
from support import OwnHeads


class Filled(OwnHeads):
    rows, columns, variables = ["a", "b"], ["x"], {"x": {"sigma": -0.1}}

    def __init__(self, **artifacts):
        self._artifacts = artifacts

    def artifact(self, row, column):
        return self._artifacts.get(row)

    def artifacts(self, row, column):
        """Of seeds 0, 1, ...: a list, or one."""
        made = self._artifacts.get(row, [])
        return dict(enumerate(made if isinstance(made, list) else [made]))


def test_couplings_stand_beside_the_truth():
    learnt = torch.randn(9, 9)
    table = Filled(a={"couplings": learnt, "first_couplings": torch.zeros(9, 9)})
    shown = [
        torch.tensor(axis.images[0].get_array()) for axis in couplings(table, "a", "x").axes[:3]
    ]
    assert torch.equal(shown[0], lattice_couplings(3, -0.1))
    assert not shown[1].any() and torch.equal(shown[2], learnt)
    assert couplings(table, "b", "x") is None
    plt.close("all")


def test_the_levels_of_a_lattice_lie_inside_their_bins():
    """Equal bins, narrower than the levels are apart, would leave some empty."""
    levels = torch.arange(-3.0, 12.0, 0.8)
    edges = torch.tensor(_bins(levels.repeat(5) + 1e-6 * torch.randn(5 * len(levels))))
    counts = torch.histogram(levels, edges.float()).hist
    assert (counts == 1).all() and edges.diff().tolist() == pytest.approx(
        [0.8] * len(levels), abs=1e-4
    )
    for size in (1000, 100_000):  # no levels, however dense
        assert len(_bins(torch.randn(size))) == 41


def test_energies_share_their_bins():
    table = Filled(a={"log_prob": torch.linspace(0, 1, 500)}, b={"log_prob": torch.full((9,), 3.0)})
    (axis,) = energies(table, reference="b").axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["a", "b"]
    # a fills a third of the range, b its last bin; both have area one
    width = 3.0 / 40
    bars = [patch.get_height() for patch in axis.patches if isinstance(patch, Rectangle)]
    assert abs(bars[-1] - 1 / width) < 0.01 / width and not any(bars[:-1])
    assert energies(Filled()) is None
    assert energies(table, reference="c") is None  # it was not run
    plt.close("all")


def test_trajectories_are_a_line_of_panels_a_way():
    paths = torch.arange(4 * 3 * 2 * 2).view(4, 3, 2, 2).float()
    figure = trajectories(Filled(a={"path_points": paths}), "a", [0, 0.5])
    assert len(figure.axes) == 6
    assert [axis.get_title() for axis in figure.axes[:2]] == ["t = 0", "t = 0.5"]
    shown = figure.axes[3].collections[0].get_offsets()  # the second way, the second time
    assert torch.as_tensor(shown).tolist() == paths[:, 1, 1].tolist()
    assert figure.axes[4].get_ylabel() == "x\nchains"
    assert trajectories(Filled(), "a", [0]) is None
    plt.close("all")


def test_short_logarithmic_axes_have_few_plain_marks():
    step = torch.arange(10.0)
    curves = {"step": step, "loss": 10 ** (1 - step / 3), "integrand_std": 0.15 + 3 / (1 + step)}
    figure = estimators(Filled(a={"curves": curves}), ["loss", "integrand_std"])
    figure.draw_without_rendering()
    wide, short = figure.axes
    assert (wide.get_title(), short.get_title()) == ("loss", r"std of $\xi_t$")
    low, high = short.get_ylim()
    marks = [(float(y), text.get_text()) for y, text in zip(
        short.get_yticks(), short.get_yticklabels(), strict=True)]  # fmt: skip
    assert [said for y, said in marks if low <= y <= high] == ["0.5", "1", "2"]
    assert not any(text.get_text() for text in short.get_yticklabels(minor=True))
    assert "10^" in wide.get_yticklabels()[2].get_text()
    assert estimators(Filled()) is None
    plt.close(figure)


def test_curves_are_means_over_the_seeds_that_every_row_has():
    """Two seeds of a, three of b: the third is left out; bands are their standard deviation."""
    step = torch.arange(3.0)

    def runs(*levels):
        return [{"curves": {"step": step, "ess": level + step}} for level in levels]

    figure = estimators(Filled(a=runs(1.0, 3.0), b=runs(4.0, 6.0, 90.0)), ["ess"])
    (axis,) = figure.axes
    assert [line.get_ydata().tolist() for line in axis.lines] == [[2, 3, 4], [5, 6, 7]]
    band = axis.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((2 - 2**0.5, 4 + 2**0.5))
    assert axis.get_legend().get_title().get_text() == "seeds 0, 1"
    plt.close(figure)
