"""What the terminal shows of a finished table, and the console that everything is printed on."""

import os
import sys
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from jumpbench.names import visible
from jumpbench.tables.views import wording
from jumpbench.tables.views.layout import Block, Text, View, blocks

PIPED_WIDTH = 100
_COLOURS = {"≈": "green", "▲": "blue", "▼": "red"}
_CLAIM = {True: ("✔", "green"), False: ("✘", "red"), None: ("○", "dim")}
_ASCII = str.maketrans(
    {"≈": "=", "▲": "+", "▼": "-", "✔": "v", "✘": "x", "○": "o", "±": "+-", "–": "-", "…": "..."}
    | {"↓": "(lower is better)", "↑": "(higher is better)"}
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


def print_table(view: View) -> None:
    """The table, its claims and its notes on standard output."""
    out = console()
    out.print(words(out, view.heading, "bold"))
    for line in wording.banner(view):
        out.print(words(out, line, "yellow"))
    out.print(words(out, view.about, "dim"))
    for block in blocks(view):
        for part in _split(block, out.width):
            out.print(_rich(out, part))
    paper = " Second lines: the paper." if view.beside else ""
    out.print(words(out, f"{wording.counts(view.cells)}.{paper}{wording.legend(view)}", "dim"))
    for claim in view.claims:
        mark, colour = _CLAIM[claim["holds"]]
        out.print(words(out, f"{mark} ", colour) + words(out, claim["text"]))
        head, detail = wording.claim_head(claim), wording.claim_words(claim)
        if detail and not detail.startswith(head):
            detail = f"{head}: {detail}"
        out.print(words(out, f"  {detail or head}", "dim"))
    for note in [*wording.notes(view), wording.made_by(view)]:
        out.print(words(out, f"- {note}", "dim"))
    out.file.flush()


def _split(block: Block, width: int) -> list[Block]:
    """Blocks of columns that fit side by side."""
    first = max(len(row) for row, _ in block.rows) + 4
    sizes = [
        max(len(name), *(max(len(t[i].measured) + 2, len(t[i].paper) + 6) for _, t in block.rows))
        + 3
        for i, name in enumerate(block.columns)
    ]
    groups: list[list[int]] = [[]]
    for i, size in enumerate(sizes):
        if groups[-1] and first + sum(sizes[j] for j in groups[-1]) + size > width:
            groups.append([])
        groups[-1].append(i)
    return [
        Block(
            block.metric,
            tuple(block.columns[i] for i in group),
            tuple((row, tuple(texts[i] for i in group)) for row, texts in block.rows),
            tuple(block.perfect[i] for i in group) if block.perfect else None,
        )
        for group in groups
    ]


def _rich(out: Console, block: Block) -> RichTable:
    table = RichTable(header_style="bold", show_lines=False, pad_edge=False)
    table.add_column(words(out, wording.title(block.metric)), no_wrap=False)
    for name in block.columns:
        table.add_column(words(out, name), justify="right", no_wrap=True)
    for row, texts in block.rows:
        table.add_row(words(out, row), *(_text(out, text) for text in texts))
    if block.perfect:
        table.add_section()
        table.add_row(words(out, block.perfect_label, "dim italic"), *block.perfect)
    return table


def _text(out: Console, cell: Text) -> RichText:
    text = words(out, cell.measured, "" if cell.status == "measured" else "dim italic")
    if cell.mark:
        text += words(out, f" {cell.mark}", _COLOURS[cell.mark])
    if cell.paper:
        text += words(out, "").append("\n") + words(out, f"paper {cell.paper}", "dim")
    return text


def print_json(value: Any) -> None:
    """For programs: plain json on standard output."""
    from jumpbench.tables.views.render import to_json

    print(to_json(value), end="")
