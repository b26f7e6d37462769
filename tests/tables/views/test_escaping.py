"""Names, notes and messages are shown as they are, and nothing in them is obeyed."""

import csv
import dataclasses
import io

import pytest
from rich.console import Console

from jumpbench.tables.language.scale import Heads
from jumpbench.tables.views import console
from jumpbench.tables.views.render import to_csv, to_html, to_latex, to_markdown
from jumpbench.tables.views.view import View

NASTY = ["SGDD [ours]", "[/x] a", "[red]b", "=1+1", "a | b", "<script>", "${x} & 50%"]


@pytest.mark.parametrize("name", NASTY)
def test_names_are_shown_and_not_obeyed(filled, capsys, name):
    table, cells = filled
    row = dataclasses.replace(table.rows[0], name=name)
    metric = dataclasses.replace(table.metrics["mean"], unit="s")
    table = dataclasses.replace(table, rows=(row,), title=name, metrics={"mean": metric})
    cells = [dataclasses.replace(cells[0], row=name, note=name)]
    view = View(table, "paper", cells)
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
    view = View(table, "paper", [dataclasses.replace(cells[1], note="\x1b[31mred\x1b]0;title\x07")])
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
        view = View(
            other, "paper", [dataclasses.replace(cells[0], paper=said, note=said)], claims=claims,
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
    console.print_table(View(table, "paper", cells))
    text = capsys.readouterr().out
    assert text.isascii() and "0.51+-0.02 =" in text
