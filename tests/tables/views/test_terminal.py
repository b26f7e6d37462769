"""What the commands print fits the terminal: at 60, 80, 100 and 160 columns, piped, ascii only."""

from dataclasses import replace

import pytest

from jumpbench.cli.main import main
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.spec import load
from jumpbench.tables.language.types import Column
from jumpbench.tables.views.console import print_table
from jumpbench.tables.views.view import View


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_lines_fit_and_no_word_is_broken(project, capsys, monkeypatch, width, encoding):
    monkeypatch.setenv("COLUMNS", str(width))
    if encoding == "ascii":
        from rich.console import Console

        monkeypatch.setattr(Console, "encoding", property(lambda self: "ascii"))
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert max(map(len, listed.splitlines())) <= width
    assert "sgdd/table2" in listed and "Exact errors on enumerable counts" in listed.replace(
        "\n", " "
    )
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines()[1:])) <= width  # the first line is a path
    assert "small n" in shown and "large n" in shown
    if encoding == "ascii":
        assert listed.isascii() and shown.isascii()


def test_floors_that_are_wider_than_their_numbers_stand_apart(project, capsys):
    """Rows of few and of many samples: a column's floor is a span, the widest of its texts."""
    table = load("toy/coins")
    cells = [
        Cell(row, column, "mean", measured=0.5, status="measured", perfect=floor)
        for row, floor in (("fair", 0.0175), ("biased", 0.099))
        for column in ("small n", "large n")
    ]
    print_table(View(table, "small", cells))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("floor (perfect)") and len(last.split(" to ")) == 3
    spans = last.partition("│")[2].strip().split("  ")
    assert len(spans) == 2 and spans[0] == spans[1]


def test_a_panel_without_floors_has_no_row_of_them(project, capsys, monkeypatch):
    """A table that is split into four for the terminal; its first columns alone have a floor."""
    monkeypatch.setenv("COLUMNS", "60")
    table = load("toy/coins")
    names = [f"a long name of column {i}" for i in range(4)]
    table = replace(table, columns=tuple(Column(name) for name in names), published={})
    cells = [
        Cell("fair", name, "mean", measured=0.5, status="measured", perfect=floor)
        for name, floor in zip(names, (0.02, 0.02, None, None), strict=True)
    ]
    print_table(View(table, "small", cells))
    shown = capsys.readouterr().out
    assert shown.count("fair ") == 4 and shown.count("perfect") == 2
    without = [replace(cell, perfect=None) for cell in cells]
    print_table(View(table, "small", without))
    assert "perfect" not in capsys.readouterr().out
