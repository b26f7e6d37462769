"""Figures that any table can name."""

from types import SimpleNamespace

import matplotlib.pyplot as plt

from jumpbench.tables.figures import scatter
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

    def value(self, row, column, metric):
        return self.values.get((row, column, metric))


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
