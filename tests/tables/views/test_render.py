import csv
import dataclasses
import io
import json
import re

import pytest

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.scale import Heads
from jumpbench.tables.views import console, layout
from jumpbench.tables.views.layout import blocks, cell_text, number
from jumpbench.tables.views.panels import panels
from jumpbench.tables.views.render import runs_csv, to_html, to_json, to_latex, to_markdown
from jumpbench.tables.views.view import View
from jumpbench.tables.views.wording import counts, notes


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.12345, 3, "0.123"), (0.0, 2, "0.00"), (0.0001, 2, "1.00e-04"), (1234567.0, 1, "1.23e+06"),
     (-3.14159, 2, "-3.14"), (9.66e-17, 2, "0.00"), (None, 2, ""), ("text", 2, "text")],
)  # fmt: skip
def test_numbers(value, digits, text):
    assert number(value, digits) == text


def view_of(table, cells, scale="paper", **more):
    return View(table, scale, cells, **more)


def test_cells_say_what_they_are(filled):
    table, cells = filled
    metric = table.metrics["mean"]
    assert cell_text(cells[0], metric).line == "0.51±0.02 ≈ (paper 0.50)"
    assert cell_text(cells[0], metric, beside=False).line == "0.51±0.02 ≈"
    assert cell_text(cells[1], metric).line == "failed (paper 0.50±0.10)"
    assert cell_text(cells[2], metric).line == "– (paper 0.10)"
    partial = dataclasses.replace(cells[0], status="partial", verdict=None)
    assert cell_text(partial, metric).line == "0.51±0.02 [partial] (paper 0.50)"
    exact, same = dataclasses.replace(metric, exact=True), dataclasses.replace(cells[0], std=0.0)
    assert cell_text(same, exact, beside=False).line == "0.51 ≈"
    assert cell_text(same, metric, beside=False).line == "0.51±0.00 ≈"
    assert cell_text(cells[0], exact, beside=False).line == "0.51±0.02 ≈"
    assert counts(cells, table) == "1 of 2 cells measured; 2 seeds a cell; 500 samples a cell"
    closed = dataclasses.replace(table, metrics={"mean": exact})
    assert counts(cells, closed) == "1 of 2 cells measured; 2 seeds a cell"
    assert counts([partial], table).startswith("0 of 1 cells measured, 1 in part; 2 seeds")


def test_every_format_has_every_number(filled):
    table, cells = filled
    made = {"hardware": ["a <machine>"], "run_commits": ["commit 0123456789"], "collected": "now",
            "collected_by": {"commit": "abcdef"}}  # fmt: skip
    view = view_of(table, cells, provenance=made)
    page = to_html(view, [])
    assert "0.51±0.02" in page and "&lt;b&gt; &amp; c" in page and "<machine>" not in page
    assert "commit 0123456789" in page and "abcdef" not in page
    latex = to_latex(view)
    assert r"0.51$\pm$0.02" in latex and latex.count(r"\begin{tabular}") == 1
    assert "commit 0123456789" in latex
    text = to_markdown(view)
    assert "0.51±0.02" in text and "floor (perfect) | 0.02" in text.replace("*", "")
    content = {"table": "t", "scale": "paper", "cells": [c.as_json() for c in cells]}
    assert json.loads(to_json(content))["cells"][0]["measured"] == 0.51234567
    with pytest.raises(ValueError, match="Out of range"):
        to_json({"a": float("nan")})
    tidy = list(csv.DictReader(io.StringIO(runs_csv(content))))
    assert [(r["row"], r["seed"], r["value"], r["run"]) for r in tidy] == [
        ("fair", "0", "0.5", "toy/a"), ("fair", "1", "0.52469134", "toy/b")
    ]  # fmt: skip


def test_wide_blocks_are_split_to_fit(filled):
    table, _ = filled
    wide = [
        Cell(row, f"column {i}", "mean", measured=0.5, status="measured", paper=0.5)
        for row in ("fair", "biased")
        for i in range(12)
    ]
    (block,) = blocks(view_of(table, [dataclasses.replace(wide[0], column="small n")]))
    assert [panel.blocks for panel in panels([block], console._width, 100)] == [(block,)]
    metric = Metric("mean", label="mean")
    many = type(block)(
        metric,
        tuple(f"column {i}" for i in range(12)),
        tuple(
            (r, tuple(cell_text(c, metric) for c in wide if c.row == r)) for r in ("fair", "biased")
        ),
        None,
    )
    parts = [part for panel in panels([many], console._width, 100) for part in panel.blocks]
    assert len(parts) > 1 and all(console._width(part) <= 100 for part in parts)
    assert tuple(name for part in parts for name in part.columns) == many.columns


def test_what_a_scale_leaves_out_is_named_once(filled):
    table, cells = filled
    outside = Cell("biased", "large n", "mean", paper=0.9, asked=False)
    here = Cell("biased", "small n", "mean", measured=1.0, n_seeds=2, status="measured")
    inside = [cells[0], here]
    view = view_of(table, [*inside, outside], "small")
    (block,) = blocks(view)
    assert block.columns == ("small n",) and len(block.rows) == 2
    assert [line for line in notes(view) if "Not part" in line] == [
        "Not part of the small scale: columns large n"
    ]
    assert counts(view.cells, view.table).startswith("2 of 2 cells")
    many = [dataclasses.replace(outside, column=f"n={k}") for k in range(15)]
    (line,) = [line for line in notes(view_of(table, [*inside, *many], "small")) if "Not" in line]
    assert line.endswith("n=10, n=11 and 3 more")


def changed(table, **scale):
    small = dataclasses.replace(table.scales["small"], **scale)
    return dataclasses.replace(table, scales={**table.scales, "small": small})


def test_a_miniature_says_what_ran_and_has_no_published_numbers_beside(filled, capsys):
    table, cells = filled
    heads = Heads(columns={"small n": "tiny n", "large n": "less tiny n"}, rows={"fair": "a coin"})
    table = changed(table, compare=None, heads=heads, note="a tenth of the flips.")
    view = view_of(table, cells, "small")
    console.print_table(view)
    page = re.sub(r"<script.*?</script>", "", to_html(view, []), flags=re.DOTALL)
    for text in (capsys.readouterr().out, to_markdown(view), page, to_latex(view)):
        assert "Toy in miniature" in text and "a tenth of the flips." in text
        assert "tiny n" in text and "a coin" in text and "small n" not in text
        assert "paper 0.5" not in text and "(0.50)" not in text and "elsewhere" not in text
    table = changed(table, title="Coins", about="of cents")
    assert to_markdown(view_of(table, cells, "small")).startswith("### Coins (small scale)")
    assert "of cents" in to_html(view_of(table, cells, "small"), [])


def test_overrides_and_foreign_files_are_told_in_every_format(filled, capsys):
    table, cells = filled
    for view in (
        view_of(table, cells, overrides=["method.bias=0.1"]),
        view_of(dataclasses.replace(table, foreign=True, file="/own/coins.yaml"), cells),
    ):
        console.print_table(view)
        words = "method.bias=0.1" if view.overrides else "/own/coins.yaml"
        for text in (capsys.readouterr().out, to_markdown(view), to_html(view, []), to_latex(view)):
            assert words in text and "Nothing here is judged" in " ".join(text.split())
            assert "matches the paper" not in text


def test_a_table_that_the_paper_does_not_have_speaks_of_no_paper(filled, capsys):
    table, cells = filled
    console.print_table(view_of(table, cells))
    assert "Second lines: the paper. ≈ matches" in " ".join(capsys.readouterr().out.split())
    ours = dataclasses.replace(table, published={}, claims=())
    cells = [dataclasses.replace(cells[0], paper=None, verdict=None)]
    for scale in ("smoke", "small", "paper"):
        view = view_of(changed(ours, compare=None), cells, scale)
        console.print_table(view)
        text = capsys.readouterr().out + to_markdown(view)
        assert "0.51±0.02" in text
        assert "Second lines" not in text and "matches" not in text and "paper's" not in text


@pytest.mark.parametrize("better", ["lower", "higher", "none"])
def test_the_best_numbers_of_a_column_are_marked_as_printed(filled, better):
    """Ties at the printed digits are all best; partial cells, lone numbers and references never
    are."""
    table, cells = filled
    metric = dataclasses.replace(table.metrics["mean"], better=better)
    rows = tuple(
        dataclasses.replace(table.rows[0], name=name, reference=name == "e") for name in "abcde"
    )
    table = dataclasses.replace(table, rows=rows, metrics={"mean": metric})
    beaten = 0.1 if better == "lower" else 1.0
    values = {"a": 0.504, "b": 0.501, "c": 0.9, "d": beaten, "e": beaten}
    column = [
        dataclasses.replace(cells[0], row=name, measured=value, std=None, verdict=None,
                            status="partial" if name == "d" else "measured")
        for name, value in values.items()
    ]  # fmt: skip
    view = view_of(table, column)
    (block,) = blocks(view)
    best = {row for row, texts in block.rows if texts[0].best}
    assert best == {"lower": {"a", "b"}, "higher": {"c"}, "none": set()}[better]
    assert to_latex(view).count(r"\textbf") == len(best)
    assert to_html(view, []).count(' best"') == len(best)
    (lone,) = blocks(view_of(table, column[:1]))
    assert not lone.rows[0][1][0].best


def test_floors_of_unlike_numbers_of_samples_are_both_shown():
    assert layout._span([0.0073, 0.0291, 0.0075], 4) == "0.0073 to 0.0291"
    assert layout._span([0.010, 0.012], 3) == "0.011"
    assert layout._span([], 3) == "" and layout._span([0.0, 0.2], 1) == "0.1"
