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
        self.beside = False

    def value(self, row, column, metric):
        return self.values.get((row, column, metric))

    def cell(self, row, column, metric):
        value = self.value(row, column, metric)
        return SimpleNamespace(column=column, measured=value, std=None, paper=None)


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
