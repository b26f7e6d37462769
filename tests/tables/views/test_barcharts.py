"""Bars stand at what was measured, lines at what was printed."""

import dataclasses
import math
import re

import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.spec import load
from jumpbench.tables.views import barcharts, figures
from jumpbench.tables.views.filled import Filled

MEASURED = {("fair", "small n"): 0.5, ("biased", "small n"): 0.75, ("fair", "large n"): 0.25}


@pytest.fixture
def filled(project):
    """Two rows and two columns, one cell of them not run; the paper printed one number."""
    table = load("toy/coins")
    cells = [
        Cell(row, column, "mean", measured=value, std=0.125, n_seeds=2, status="measured",
             paper=0.625 if (row, column) == ("fair", "small n") else None)
        for (row, column), value in MEASURED.items()
    ]  # fmt: skip
    cells.append(Cell("biased", "large n", "mean"))
    return lambda scale: Filled(table, (), cells, scale)


def bars_of(figure: Figure):
    """(axes, {row: heights}) of a figure with one panel."""
    (axis,) = figure.axes
    groups = [c for c in axis.containers if not isinstance(c, ErrorbarContainer)]
    return axis, {group.get_label(): [bar.get_height() for bar in group] for group in groups}


def test_bars_are_the_numbers_with_their_spread(filled):
    axis, heights = bars_of(barcharts.bars(filled("paper")))
    assert heights == {"fair": [0.5, 0.25], "biased": [0.75]}
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["small n", "large n"]
    (fair, _) = [c for c in axis.containers if isinstance(c, ErrorbarContainer)]
    ends = [segment[:, 1].tolist() for segment in fair[2][0].get_segments()]
    assert ends == [[0.375, 0.625], [0.125, 0.375]]
    printed = [line for line in axis.lines if line.get_color() == "black" and line.get_lw() > 1]
    (line,) = printed  # one published number, drawn across its bar
    assert list(line.get_ydata()) == [0.625, 0.625]
    group = next(c for c in axis.containers if c.get_label() == "fair")
    left = group[0].get_x()
    assert list(line.get_xdata()) == pytest.approx([left, left + group[0].get_width()])


def test_what_a_perfect_method_would_score_is_dotted_across_its_bar(filled):
    plain = filled("paper")
    assert "perfect" not in [text.get_text() for text in barcharts.bars(plain).legends[0].texts]
    cells = [
        dataclasses.replace(cell, perfect={"fair": 0.25, "biased": math.nan}[cell.row], std=None)
        for cell in plain.cells
        if cell.column == "small n"
    ]
    figure = barcharts.bars(Filled(plain.table, (), cells, "paper"))
    (axis,) = figure.axes
    (line,) = [line for line in axis.lines if line.get_linestyle() == ":"]
    assert list(line.get_ydata()) == [0.25, 0.25]
    assert [text.get_text() for text in figure.legends[0].texts] == ["fair", "biased", "perfect"]
    fair = next(c for c in axis.containers if isinstance(c, ErrorbarContainer))
    assert not [*filter(len, fair[2][0].get_segments())]  # one run has no bar


def test_a_miniature_draws_no_published_number(filled):
    small = filled("small")
    scale = dataclasses.replace(small.table.scales["small"], compare=None)
    small.table = dataclasses.replace(small.table, scales={"small": scale})
    again = Filled(small.table, (), small.cells, "small")
    axis, _ = bars_of(barcharts.bars(again))
    assert not [line for line in axis.lines if line.get_color() == "black" and line.get_lw() > 1]


def test_a_miniature_is_drawn_under_its_own_heads(filled):
    small = filled("small")
    heads = dataclasses.replace(
        small.table.scales["small"].heads, rows={"fair": "8 flips"}, columns={"small n": "n = 8"}
    )
    scale = dataclasses.replace(small.table.scales["small"], heads=heads)
    table = dataclasses.replace(small.table, scales={"small": scale})
    axis, heights = bars_of(barcharts.bars(Filled(table, (), small.cells, "small")))
    assert set(heights) == {"8 flips", "biased"}
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["n = 8", "large n"]


def test_numbers_far_apart_are_logarithmic_and_none_is_no_figure(filled):
    paper = filled("paper")
    far = [dataclasses.replace(c, measured=c.measured and c.measured**20) for c in paper.cells]
    axis, _ = bars_of(barcharts.bars(Filled(paper.table, (), far, "paper")))
    assert axis.get_yscale() == "log"
    none = [dataclasses.replace(c, measured=None, status="missing") for c in paper.cells]
    assert barcharts.bars(Filled(paper.table, (), none, "paper")) is None
    assert barcharts.heatmap(Filled(paper.table, (), none, "paper"), "mean") is None


def test_a_heat_map_has_each_number_in_its_square(filled):
    figure = barcharts.heatmap(filled("paper"), "mean")
    axis = figure.axes[0]
    shown = {
        (text.get_position()[1], text.get_position()[0]): text.get_text() for text in axis.texts
    }
    assert shown == {(0, 0): "0.50", (0, 1): "0.25", (1, 0): "0.75"}
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["fair", "biased"]


def test_every_table_has_figures_unless_its_file_says_none(project):
    assert figures.entries(load("toy/coins")) == []  # figures: []
    table = dataclasses.replace(load("toy/coins"), figures=None)
    assert figures.entries(table) == [figures.BARS]
    ((name, function, arguments),) = figures.functions(table)
    assert (name, function, arguments) == ("results", barcharts.bars, {})
    directed = {"a": Metric("a", better="lower"), "b": Metric("b")}
    many = dataclasses.replace(table, metrics=directed)
    cells = [Cell("fair", "small n", m, measured=1.0, status="measured") for m in directed]
    assert len(barcharts.bars(Filled(many, (), cells, "paper")).axes) == 1  # those with a direction


def numbers(node, name="d"):
    return [float(n) for n in re.findall(r"-?[\d.]+", node.get(name))]


def test_the_legend_has_the_colours_of_the_bars_also_of_rows_without_the_first_metric(filled):
    both = filled("paper")
    further = dataclasses.replace(both.table.metrics["mean"], name="further")
    table = dataclasses.replace(both.table, metrics={**both.table.metrics, "further": further})
    cells = [c for c in both.cells if c.row == "fair"]
    cells += [dataclasses.replace(c, metric="further") for c in both.cells if c.measured]
    figure = barcharts.bars(Filled(table, (), cells, "paper"))
    groups = [c for c in figure.axes[1].containers if not isinstance(c, ErrorbarContainer)]
    bars = {c.get_label(): c[0].get_facecolor() for c in groups if len(c)}
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    shown = dict(zip(names, [patch.get_facecolor() for patch in legend.get_patches()], strict=True))
    assert shown.keys() == {"fair", "biased"} and shown["fair"] != shown["biased"]
    assert bars == shown
