"""What the terminal shows of a finished table, and the console that everything is printed on."""

import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text as RichText

from jumpbench.names import visible
from jumpbench.tables.views import claimwords, unfinished, wording
from jumpbench.tables.views.layout import Block, Text, blocks
from jumpbench.tables.views.panels import Panel, panels
from jumpbench.tables.views.view import View

PIPED_WIDTH = 100
_COLOURS = {"≈": "green", "▲": "blue", "▼": "red"}
_CLAIM = {True: ("✔", "green"), False: ("✘", "red"), None: ("○", "dim")}
_ASCII = str.maketrans(
    {"≈": "=", "▲": "+", "▼": "-", "✔": "v", "✘": "x", "○": "o", "±": "+-", "–": "-", "…": "..."}
    | {"↓": "(lower is better)", "↑": "(higher is better)", "│": "|", "─": "-", "┼": "+"}
)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """The reader left (``| head``): nothing more is printed, and the command goes on."""
        quiet_stdout()


def quiet_stdout() -> None:
    """Send what is still printed nowhere."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def console(stderr: bool = False) -> Console:
    """As wide as the terminal, or 100 columns where there is none. Names are no markup."""
    terminal = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not terminal.is_terminal and "COLUMNS" not in os.environ:
        terminal.width = PIPED_WIDTH
    return terminal


def words(out: Console, text: str, style: str = "") -> RichText:
    """Text for a console: control characters spelled, marks in ASCII where it has no others."""
    text = visible(text)
    if not out.encoding.lower().startswith("utf"):
        text = text.translate(_ASCII)
    return RichText(text, style=style)


def print_table(view: View, notes: bool = False) -> None:
    """The table on standard output, its numbers last; ``notes``: with claims and notes before."""
    out = console()
    out.print(words(out, view.heading, "bold"))
    for line in wording.banner(view) if notes or view.scale.kind != "smoke" else _smoke(view):
        out.print(words(out, line, "yellow"))
    if notes:
        out.print(words(out, view.about, "dim"))
        for claim in view.claims:
            mark, colour = _CLAIM[claim["holds"]]
            out.print(words(out, f"{mark} ", colour) + words(out, claim["text"]))
            head, detail = claimwords.claim_head(claim), claimwords.claim_words(claim)
            if detail and not detail.startswith(head):
                detail = f"{head}: {detail}"
            out.print(words(out, f"  {detail or head}", "dim"))
    said = [*wording.notes(view), wording.made_by(view)] if notes else wording.reasons(view)
    for note in said:
        out.print(words(out, f"- {note}", "dim"))
    paper = " Second lines: the paper." if view.beside else ""
    counted = wording.counts(view.cells, view.table)
    out.print(words(out, f"{counted}.{paper}{wording.legend(view)}", "dim"))
    if not notes and (left := len(wording.notes(view)) - len(said)) + len(view.claims):
        parts = filter(None, [claimwords.claim_counts(view), f"{left} notes" if left else ""])
        out.print(words(out, f"{'; '.join(parts)} (notes=true)".capitalize(), "dim"))
    if line := unfinished.unrun(view):
        out.print(words(out, f"{line} {unfinished.THE_REST}", "dim"))
        # The terminal's own wrapping does not break a line that is copied from it.
        out.print(words(out, unfinished.rest_command(view), "dim"), soft_wrap=True)
    names = _names([row for block in blocks(view) for row, _ in block.rows], out.width)
    for i, panel in enumerate(panels(blocks(view), _width, out.width - names)):
        out.print("\n" * (i > 0), end="")
        for text in _lines(out, panel, names):
            text.rstrip()
            out.print(text)
    out.file.flush()


def _smoke(view: View) -> list[str]:
    """The banner of a smoke table without what its scale changes."""
    part, told = wording.banner(view)[:-1], "Smoke scale: it shows only that everything runs."
    return [*part, told]


def _names(rows: Sequence[str], width: int) -> int:
    """Letters of the column of rows: of the longest, but at most a third of the terminal."""
    return min(max(map(len, [*rows, "ceiling (perfect)"])), max(width // 3, 17))


def _widths(block: Block) -> list[int]:
    """Letters of each column of a metric; the last one has room for its title's longest word."""
    lines: list[Sequence[str]] = [block.columns, *([block.perfect] if block.perfect else [])]
    for _, texts in block.rows:
        lines += [[_measured(text) for text in texts], [_paper(text) for text in texts]]
    found = [max(map(len, column)) for column in zip(*lines, strict=True)]
    longest = max(map(len, wording.title(block.metric).split()), default=0)
    found[-1] += max(0, longest - sum(found) - 2 * (len(found) - 1))
    return found


def _width(block: Block) -> int:
    return sum(_widths(block)) + 2 * len(block.columns) + 1  # between columns, and a bar


def _lines(out: Console, panel: Panel, names: int) -> list[RichText]:
    """A panel: metrics above their columns, a rule, rows, and what a perfect method would score."""
    widths = [_widths(block) for block in panel.blocks]
    whole = [sum(each) + 2 * (len(each) - 1) for each in widths]
    titles = [
        textwrap.wrap(wording.title(block.metric), width)
        for block, width in zip(panel.blocks, whole, strict=True)
    ]
    high = max(map(len, titles))
    lines = []
    for i in range(high):
        shown = [[""] * (high - len(title)) + title for title in titles]
        parts = [title[i].ljust(width) for title, width in zip(shown, whole, strict=True)]
        lines.append(words(out, "".ljust(names) + "".join(f" │ {part}" for part in parts), "bold"))

    def line(name: str, cells: Sequence[Sequence[RichText]]) -> RichText:
        text = words(out, name.ljust(names))
        for group, each in zip(cells, widths, strict=True):
            text += words(out, " │ ")
            for i, (cell, width) in enumerate(zip(group, each, strict=True)):
                text += words(out, " " * (width - len(cell) + 2 * (i > 0))) + cell
        return text

    lines.append(line("", [[words(out, c, "bold") for c in b.columns] for b in panel.blocks]))
    lines.append(words(out, "─" * names + "".join("─┼─" + "─" * width for width in whole), "dim"))
    for row in panel.rows:
        texts = panel.texts(row)
        head = textwrap.wrap(row, names) or [""]
        below = [[words(out, _paper(t), "dim") for t in group] for group in texts]
        lines.append(line(head[0], [[_cell(out, t) for t in group] for group in texts]))
        there = any(cell.plain for group in below for cell in group)
        nothing = [[words(out, "") for _ in group] for group in below]
        for i in range(1, max(len(head), 2 if there else 1)):
            lines.append(line(head[i] if i < len(head) else "", below if i == 1 else nothing))
    if panel.perfect:
        perfect = [[words(out, n, "dim italic") for n in group] for group in panel.perfect]
        lines.append(line(panel.perfect_label, perfect))
    return lines


def _measured(cell: Text) -> str:
    return f"{cell.measured} {cell.mark}" if cell.mark else cell.measured


def _paper(cell: Text) -> str:
    return f"paper {cell.paper}" if cell.paper else ""


def _cell(out: Console, cell: Text) -> RichText:
    text = words(out, cell.measured, "" if cell.status == "measured" else "dim italic")
    return text + words(out, f" {cell.mark}", _COLOURS[cell.mark]) if cell.mark else text


def print_json(value: Any) -> None:
    """For programs: plain json on standard output."""
    from jumpbench.tables.views.render import to_json

    print(to_json(value), end="")
