import csv
import dataclasses
import io
import json
import re
import shutil
import subprocess

import pytest
from rich.console import Console

from jumpbench.tables.commands.recorded import read_record, recorded_scales, recorded_view
from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.language.types import Heads, Metric
from jumpbench.tables.views import console, layout
from jumpbench.tables.views.layout import View, blocks, cell_text, number
from jumpbench.tables.views.panels import panels
from jumpbench.tables.views.render import runs_csv, to_csv, to_html, to_json, to_latex, to_markdown
from jumpbench.tables.views.wording import counts, notes


@pytest.fixture
def filled(project):
    table = load("toy/coins")
    cells = [
        Cell("fair", "small n", "mean", paper=0.5, measured=0.51234567, std=0.02, n_seeds=2,
             n_samples=500, status="measured", verdict="match", perfect=0.0223,
             values=[Value(0, 0.5, "toy/a"), Value(1, 0.52469134, "toy/b")]),
        Cell("fair", "large n", "mean", paper=0.5, paper_std=0.1, status="failed", note="<b> & c"),
        Cell("elsewhere", "small n", "mean", paper=0.1, status="cited", asked=False),
    ]  # fmt: skip
    return table, cells


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
    assert counts(cells) == "1 of 2 cells measured; 2 seeds a cell; 500 samples a cell"
    assert counts([partial]).startswith("0 of 1 cells measured, 1 in part; 2 seeds")


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


NASTY = ["SGDD [ours]", "[/x] a", "[red]b", "=1+1", "a | b", "<script>", "${x} & 50%"]


@pytest.mark.parametrize("name", NASTY)
def test_names_are_shown_and_not_obeyed(filled, capsys, name):
    table, cells = filled
    row = dataclasses.replace(table.rows[0], name=name)
    metric = dataclasses.replace(table.metrics["mean"], unit="s")
    table = dataclasses.replace(table, rows=(row,), title=name, metrics={"mean": metric})
    cells = [dataclasses.replace(cells[0], row=name, note=name)]
    view = view_of(table, cells)
    console.print_table(view)
    printed = capsys.readouterr().out
    assert name in printed and "mean [s]" in printed
    markdown = to_markdown(view)
    line = next(x for x in markdown.splitlines() if "0.51±0.02" in x)
    assert line.replace("\\|", "").count("|") == 3 and "<script" not in markdown
    page = to_html(view, [])
    assert page.count("<script") == 2 and page.count("</script") == 2  # the page's own
    first = next(csv.DictReader(io.StringIO(to_csv([c.as_json() for c in cells]))))["row"]
    assert not first.startswith("=") and name in first


def test_control_characters_in_a_message_are_spelled(filled, capsys):
    table, cells = filled
    view = view_of(table, [dataclasses.replace(cells[1], note="\x1b[31mred\x1b]0;title\x07")])
    console.print_table(view)
    for text in (capsys.readouterr().out, to_markdown(view), to_html(view, [])):
        assert "\x1b" not in text and "\x07" not in text and "\\x1b[31mred" in text


BREAKS = ["\n", "\r", "\n\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("end", BREAKS)
def test_no_line_of_a_text_becomes_a_line_of_the_document(filled, capsys, end):
    """In a comment of LaTeX, a heading or an item of Markdown a new line would be obeyed."""
    table, cells = filled

    def texts(end):
        said = f"a{end}\\input{{/etc/passwd}}{end}# b"
        scale = dataclasses.replace(
            table.scales["paper"], note=said, heads=Heads({"fair": said}, {"small n": said})
        )
        other = dataclasses.replace(
            table, id=f"toy/co{end}ins}}\\input{{x", title=said, about=said, reading=(said,),
            scales={"paper": scale}, foreign=True, file=said,
            rows=(dataclasses.replace(table.rows[0], note=said, not_target=said),),
            metrics={"mean": dataclasses.replace(table.metrics["mean"], label=said, unit=said)},
        )  # fmt: skip
        claims = [{"id": "x", "text": said, "holds": True, "detail": said, "in_print": said}]
        made = {"run_commits": [said], "hardware": [said], "outdated_runs": [said], "n_runs": 1}
        view = view_of(
            other, [dataclasses.replace(cells[0], paper=said, note=said)], claims=claims,
            provenance=made, overrides=[said],
        )  # fmt: skip
        return to_latex(view), to_markdown(view)

    for text, plain in zip(texts(end), texts(" "), strict=True):
        assert len(text.splitlines()) == len(plain.splitlines()), text
    latex = texts(end)[0]
    obeyed = [line for line in latex.splitlines() if "\\input" in line and line[0] != "%"]
    assert not obeyed and "\\label{tab:toy-co-ins-input-x-paper}" in latex


def test_an_ascii_terminal_gets_ascii(filled, capsys, monkeypatch):
    table, cells = filled
    monkeypatch.setattr(Console, "encoding", property(lambda self: "ascii"))
    console.print_table(view_of(table, cells))
    text = capsys.readouterr().out
    assert text.isascii() and "0.51+-0.02 =" in text


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
    assert counts(view.cells).startswith("2 of 2 cells")
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
        assert "Miniature of: Toy" in text and "a tenth of the flips." in text
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
    """Ties at the printed digits are all best; partial cells and lone numbers never are."""
    table, cells = filled
    metric = dataclasses.replace(table.metrics["mean"], better=better)
    rows = tuple(dataclasses.replace(table.rows[0], name=name) for name in "abcd")
    table = dataclasses.replace(table, rows=rows, metrics={"mean": metric})
    values = {"a": 0.504, "b": 0.501, "c": 0.9, "d": 0.1 if better == "lower" else 1.0}
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


def test_latex_has_metrics_as_groups_and_breaks_what_is_too_wide(filled):
    table, cells = filled
    metrics = {name: Metric(name, label=name, better="lower") for name in ("TV", "Hellinger")}
    table = dataclasses.replace(table, metrics=metrics)
    both = [dataclasses.replace(cells[0], metric=m, column=c) for m in metrics
            for c in ("small n", "large n")]  # fmt: skip
    text = to_latex(view_of(table, both))
    assert r" & \multicolumn{2}{c}{TV $\downarrow$} & \multicolumn{2}{c}{Hellinger" in text
    assert (
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}" in text and r"\caption{Toy (paper scale)." in text
    )
    assert text.count(r"\begin{table}") == 1
    columns = tuple(
        dataclasses.replace(table.columns[0], name=f"a long column {i}") for i in range(9)
    )
    table = dataclasses.replace(table, columns=columns)
    wide = [dataclasses.replace(cells[0], metric="TV", column=c.name) for c in columns]
    text = to_latex(view_of(table, wide))
    assert text.count(r"\begin{table}") == text.count("(continued)") + 1 > 2
    assert all(text.count(column.name) == 1 for column in columns)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_of_every_record_compiles_without_overfull_boxes(tmp_path):
    records = [(t, scale) for t in available() for scale in recorded_scales(t)]
    texts = [to_latex(recorded_view(load(t), read_record(t, scale))) for t, scale in records]
    assert len(texts) >= 10
    head = r"\documentclass{article}\usepackage{booktabs,graphicx,amssymb}\begin{document}"
    body = "\n\\clearpage\n".join(texts)  # a document of floats alone has no other place for them
    (tmp_path / "all.tex").write_text("\n".join([head, body, r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "all.log").read_text(errors="replace")
    assert "Overfull" not in log and "Missing character" not in log and "too large" not in log


def test_floors_of_unlike_numbers_of_samples_are_both_shown():
    assert layout._span([0.0073, 0.0291, 0.0075], 4) == "0.0073 to 0.0291"
    assert layout._span([0.010, 0.012], 3) == "0.011"
    assert layout._span([], 3) == "" and layout._span([0.0, 0.2], 1) == "0.1"
