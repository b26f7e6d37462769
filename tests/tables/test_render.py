import dataclasses
import json

import pytest

from jumpbench.tables import console
from jumpbench.tables.collect import Cell
from jumpbench.tables.layout import blocks, counts, notes, number, show
from jumpbench.tables.render import to_html, to_latex, to_markdown
from jumpbench.tables.spec import Metric, load


@pytest.fixture
def filled(project):
    table = load("toy/coins")
    cells = [
        Cell("fair", "small n", "mean", paper=0.5, measured=0.51234567, std=0.02, n_seeds=2,
             n_samples=500, status="measured", verdict="match", floor=0.0223),
        Cell("fair", "large n", "mean", paper=0.5, paper_std=0.1, status="failed", note="<b> & c"),
        Cell("elsewhere", "small n", "mean", paper=0.1, status="cited", asked=False),
    ]  # fmt: skip
    return table, cells


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.12345, 3, "0.123"), (0.0, 2, "0.00"), (0.0001, 2, "1.00e-04"), (1234567.0, 1, "1.23e+06"),
     (-3.14159, 2, "-3.14"), (None, 2, ""), ("text", 2, "text")],
)  # fmt: skip
def test_numbers(value, digits, text):
    assert number(value, digits) == text


def test_cells_say_what_they_are(filled):
    table, cells = filled
    metric = table.metrics["mean"]
    assert show(cells[0], metric).line == "0.51±0.02 ≈ (paper 0.50)"
    assert show(cells[1], metric).line == "failed (paper 0.50±0.10)"
    assert show(cells[2], metric).line == "– (paper 0.10)"
    assert counts(cells) == "1 of 2 cells measured; 2 seeds a cell; 500 samples a cell"


def test_every_format_has_every_number(filled):
    table, cells = filled
    record = {
        "scale": "smoke", "cells": [c.as_json() for c in cells], "claims": [],
        "provenance": {"hardware": ["a <machine>"], "commit": None, "dirty": None, "collected": ""},
    }  # fmt: skip
    page = to_html(table, record, cells, [])
    assert "0.51±0.02" in page and "&lt;b&gt; &amp; c" in page and "<machine>" not in page
    latex = to_latex(table, "smoke", cells)
    assert r"0.51$\pm$0.02" in latex and latex.count(r"\begin{tabular}") == 1
    text = to_markdown(table, "smoke", cells, [])
    assert "0.51±0.02" in text and "floor (perfect) | 0.02" in text.replace("*", "")
    assert json.loads(json.dumps(record))["cells"][0]["measured"] == 0.51234567


def test_wide_blocks_are_split_to_fit(filled):
    table, _ = filled
    wide = [
        Cell(row, f"column {i}", "mean", measured=0.5, status="measured", paper=0.5)
        for row in ("fair", "biased")
        for i in range(12)
    ]
    (block,) = blocks(
        table, wide[:0] + [Cell(**{**c.__dict__, "column": "small n"}) for c in wide[:1]]
    )
    assert console._split(block, 100) == [block]
    metric = Metric("mean", label="mean")
    many = type(block)(
        metric,
        tuple(f"column {i}" for i in range(12)),
        tuple((r, tuple(show(c, metric) for c in wide if c.row == r)) for r in ("fair", "biased")),
        None,
    )
    parts = console._split(many, 100)
    assert len(parts) > 1
    assert tuple(name for part in parts for name in part.columns) == many.columns


def test_what_a_scale_leaves_out_is_named_once(filled):
    table, cells = filled
    outside = Cell("biased", "large n", "mean", paper=0.9, asked=False)
    here = Cell("biased", "small n", "mean", measured=1.0, n_seeds=2, status="measured")
    inside = [cells[0], here]
    (block,) = blocks(table, [*inside, outside])
    assert block.columns == ("small n",) and len(block.rows) == 2
    lines = notes(table, "small", [*inside, outside])
    assert [line for line in lines if "not shown" in line] == [
        "Not part of the small scale, so not shown: columns large n"
    ]
    assert counts([*inside, outside]).startswith("2 of 2 cells")


def test_a_table_that_the_paper_does_not_have_speaks_of_no_paper(filled, capsys):
    table, cells = filled
    console.print_table(table, "paper", cells, [])
    assert "Second lines: the paper. ≈ matches" in capsys.readouterr().out
    miniature = dataclasses.replace(table.scales["small"], compare=False)
    table = dataclasses.replace(table, scales={**table.scales, "small": miniature})
    assert "not the paper's setting" in to_markdown(table, "small", cells, [])
    ours = dataclasses.replace(table, published={})
    cells = [dataclasses.replace(cells[0], paper=None, verdict=None)]
    for scale in ("smoke", "small", "paper"):
        console.print_table(ours, scale, cells, [])
        text = capsys.readouterr().out + to_markdown(ours, scale, cells, [])
        assert "0.51±0.02" in text
        assert "Second lines" not in text and "matches" not in text and "paper's" not in text
