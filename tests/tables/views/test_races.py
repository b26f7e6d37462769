"""Error against what was spent: panels, points, floors, and what the page draws of them."""

import dataclasses
import json
import re

import matplotlib.pyplot as plt
import pytest

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.spec import load
from jumpbench.tables.views.filled import Filled
from jumpbench.tables.views.races import for_the_page, problems, race_names, raced, races
from jumpbench.tables.views.view import View
from jumpbench.tables.views.webpage import to_html

NUMBERS = {  # (row, column): (error, its spread, seconds, seeds)
    ("Gibbs", "machine 0, 5 s"): (0.2, 0.05, 5.2, 3),
    ("Gibbs", "machine 0, 20 s"): (0.1, 0.3, 20.5, 3),
    ("DASBS", "machine 0, 5 s"): (0.4, 0.0, 7.0, 1),
    ("UDNS", "machine 1, 80 s"): (0.3, 0.1, 80.0, 3),
}


@pytest.fixture(scope="module")
def table():
    return load("leaderboard/coupled")


@pytest.fixture(scope="module")
def cells():
    made = [Cell("MDNS", "machine 0, 5 s", "energy_tv"), Cell("MDNS", "machine 0, 5 s", "seconds")]
    for (row, column), (error, std, seconds, n) in NUMBERS.items():
        at = {"status": "measured", "n_seeds": n}
        made.append(
            Cell(row, column, "energy_tv", measured=error, std=std, perfect=0.03, **at)
        )  # fmt: skip
        made.append(Cell(row, column, "seconds", measured=seconds, **at))
    return made


def test_a_problem_has_its_budgets_and_curves_have_the_finished_cells(table, cells):
    assert [len(columns) for columns in problems(table).values()] == [4, 4]
    posterior = load("leaderboard/posterior")
    assert problems(posterior) == {"Gaussian": ["Gaussian"], "XOR": ["XOR"]}
    first, second = raced(table, cells, "energy_tv", "seconds")
    assert (first.problem, second.problem) == ("machine 0", "machine 1")
    assert list(first.curves) == ["Gibbs", "DASBS"] and list(second.curves) == ["UDNS"]
    points = [(p.spent, p.error, p.spread) for p in first.curves["Gibbs"]]
    assert points == [(5.2, 0.2, 0.05), (20.5, 0.1, 0.3)]
    assert first.curves["DASBS"][0].spread == 0 and first.floors == pytest.approx([0.03])
    assert raced(table, cells[:2], "energy_tv", "seconds") == []
    fewer = [dataclasses.replace(c, perfect=0.1) if c.row == "DASBS" else c for c in cells]
    first, second = raced(table, fewer, "energy_tv", "seconds")
    assert list(first.floors) == [0.03, 0.1] and list(second.floors) == [0.03]


def test_the_figure_has_a_panel_a_problem_with_bars_and_the_floor(table, cells):
    plt.switch_backend("Agg")
    figure = races(Filled(table, (), cells, "medium"), "energy_tv", "seconds")
    left, _ = figure.axes
    assert (left.get_title(), left.get_xscale(), left.get_yscale()) == ("machine 0", "log", "log")
    lines = {line.get_label(): line for line in left.lines}
    assert list(lines["exact draws"].get_ydata()) == pytest.approx([0.03, 0.03])
    gibbs, dasbs = left.containers
    assert gibbs.get_label() == "Gibbs" and list(gibbs[0].get_xdata()) == [5.2, 20.5]
    ends = gibbs[2][0].get_segments()[1][:, 1]  # a spread above the number ends above zero
    assert ends.tolist() == pytest.approx([0.01, 0.4])
    assert (gibbs[0].get_linestyle(), dasbs[0].get_linestyle()) == ("--", "-")
    heads = [text.get_text() for text in figure.legends[0].texts]
    assert heads == ["Gibbs", "DASBS", "UDNS", "exact draws"]
    plt.close(figure)
    assert races(Filled(table, (), [], "medium"), "energy_tv", "seconds") is None


def test_the_page_draws_them_itself(table, cells, tmp_path, monkeypatch):
    assert race_names(table) == ["seconds", "energies"]
    scale = table.scales["medium"]
    charts = for_the_page(table, cells, scale.heads)
    assert [chart["name"] for chart in charts] == [
        "machine 0: energy-law TV ↓", "machine 1: energy-law TV ↓"
    ]  # fmt: skip
    assert charts[0]["lines"][1] == {
        "row": "DASBS", "points": [[7.0, 0.4, "machine 0, 5 s", None, 0.0]]
    }  # fmt: skip
    assert charts[0]["floors"] == [0.03] and charts[0]["x"] == "seconds of the run"
    html = to_html(View(table, "medium", cells), [tmp_path / "seconds.png"])
    (content,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    assert json.loads(content)["races"] == charts and "data:image/png" not in html
    assert "Claims of ours" not in html  # none was judged
    other = dataclasses.replace(table, figures=({"_target_": "x.y", "name": "a"},))
    assert for_the_page(other, cells, scale.heads) == []
