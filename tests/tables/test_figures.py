"""Figure functions on cells alone."""

import math

import matplotlib.pyplot as plt

from jumpbench.tables.cells import Cell
from jumpbench.tables.figures import Filled, heat_map
from jumpbench.tables.spec import load


def filled(values):
    cells = [Cell(row, column, "mean", measured=v, status="measured") for row, column, v in values]
    return Filled(load("toy/coins"), [], cells)


def test_a_heat_map_has_a_colour_for_every_number_and_none_elsewhere(project):
    table = filled([("fair", "small n", 0.2), ("fair", "large n", 0.4), ("biased", "large n", 0.9)])
    figure = heat_map(table, "mean", xlabel="n")
    (image,) = figure.axes[0].images
    shown = image.get_array().tolist()
    assert shown[0] == [0.2, 0.4] and shown[1][1] == 0.9
    assert shown[1][0] is None or math.isnan(shown[1][0])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["fair", "biased"]
    plt.close(figure)
    assert heat_map(filled([("fair", "small n", None)]), "mean") is None
