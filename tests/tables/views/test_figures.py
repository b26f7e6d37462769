"""Figures that any table can name."""

from types import SimpleNamespace

import matplotlib.pyplot as plt

from jumpbench.tables.views.figures import curves
from jumpbench.tables.views.scatter import scatter
from support import OwnHeads

VALUES = {("a", "1", "x"): 1.0, ("a", "1", "y"): 2.0, ("a", "2", "x"): 3.0, ("a", "2", "y"): 5.0,
          ("b", "1", "x"): 1.0}  # fmt: skip


class Filled(OwnHeads):
    rows, columns = ("a", "b"), ("1", "2")
    table = SimpleNamespace(
        metrics={"x": SimpleNamespace(label="across"), "y": SimpleNamespace(label="")}
    )

    def __init__(self, values):
        self.values = values
        self.variables = {"1": {"depth": 10}, "2": {"depth": 20}}
        self.beside, self.floors = False, {}

    def value(self, row, column, metric):
        return self.values.get((row, column, metric))

    def cell(self, row, column, metric):
        value = self.value(row, column, metric)
        floor = self.floors.get((row, column))
        return SimpleNamespace(column=column, measured=value, std=None, paper=None, perfect=floor)


def test_points_of_a_row_are_cells_with_both_metrics():
    plt.switch_backend("Agg")
    figure = scatter(Filled(VALUES), "x", "y")
    (axis,) = figure.axes
    (line,) = axis.lines
    assert line.get_xydata().tolist() == [[1, 2], [3, 5]] and line.get_label() == "a"
    assert [text.get_text() for text in axis.texts] == ["1", "2"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("across", "y")
    plt.close(figure)
    assert scatter(Filled({}), "x", "y") is None


def test_names_of_points_cover_nothing():
    """Seven points close together at the right edge, as a saturating curve has them."""
    plt.switch_backend("Agg")
    xs, ys = [0, 2.8, 7.3, 9.4, 11.1, 11.9, 12.2], [1.6, 2, 3.2, 3.5, 3.8, 3.8, 3.9]
    values = {("a", f"strength {i}", "x"): x for i, x in enumerate(xs)}
    values |= {("a", f"strength {i}", "y"): y for i, y in enumerate(ys)}
    filled = Filled(values)
    filled.rows, filled.columns = ("a",), tuple(f"strength {i}" for i in range(7))
    figure = scatter(filled, "x", "y")
    (axis,) = figure.axes
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axis.texts]
    assert len(boxes) == 7
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    frame = axis.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
    plt.close(figure)


def test_a_panel_without_numbers_costs_no_legend():
    plt.switch_backend("Agg")
    figure = curves(Filled({k: v for k, v in VALUES.items() if k[2] == "y"}), ["x", "y"], "depth")
    empty, full = figure.axes
    assert not empty.lines and empty.get_legend() is None
    assert [text.get_text() for text in full.get_legend().get_texts()] == ["a"]
    assert list(full.lines[0].get_xdata()) == [10, 20]
    plt.close(figure)
    assert curves(Filled({}), ["x", "y"], "depth") is None


def test_floors_are_dotted_once_where_alike_and_twice_where_sizes_differ():
    """Of the fewest and of the most samples; a row without a number has none."""
    plt.switch_backend("Agg")
    filled = Filled(VALUES | {("b", "2", "x"): 2.0})
    filled.floors = {("a", "1"): 0.5, ("b", "1"): 0.125, ("a", "2"): 0.375, ("b", "2"): 0.25}
    figure = curves(filled, ["x"], "depth")
    (axis,) = figure.axes
    dotted = [line for line in axis.lines if line.get_linestyle() == ":"]
    assert [line.get_xydata().tolist() for line in dotted] == [
        [[10, 0.125], [20, 0.3125]], [[10, 0.5], [20, 0.3125]],
    ]  # fmt: skip
    assert [text.get_text() for text in axis.get_legend().texts] == ["a", "b", "perfect"]
    plt.close(figure)
    assert not [line for line in curves(Filled(VALUES), ["x"], "depth").axes[0].lines
                if line.get_linestyle() == ":"]  # fmt: skip
    plt.close("all")
