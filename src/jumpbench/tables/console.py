"""What the terminal shows: progress with the time left, then the table."""

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text

from jumpbench.tables.collect import Cell
from jumpbench.tables.layout import Block, Shown, blocks, counts, legend, notes, title
from jumpbench.tables.plan import Run
from jumpbench.tables.spec import Table

_COLOURS = {"≈": "green", "▲": "blue", "▼": "red"}
_CLAIM = {True: ("✔", "green"), False: ("✘", "red"), None: ("○", "dim")}


def console(stderr: bool = False) -> Console:
    """At most 100 columns wide, so that a table reads the same everywhere."""
    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal or found.width > 100:
        found.width = 100
    return found


class Terminal:
    """Events of a launcher as a progress display, or as plain lines where there is no terminal."""

    def __init__(self, runs: Sequence[Run], after: Any) -> None:
        self._console = console(stderr=True)
        self._total, self._done, self._failed = len(runs), 0, 0
        self._after = after
        self._shares: dict[str, float] = {}
        self._began: dict[str, float] = {}
        self._waited: set[str] = set()
        self._start = time.monotonic()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._all = self._progress.add_task(
            "all runs", total=max(len(runs), 1), state=self._state()
        )
        self._now = self._progress.add_task("", total=None, visible=False, state="")

    def __enter__(self) -> "Terminal":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _state(self) -> str:
        made = self._done + self._failed
        text = f"{made}/{self._total}" + (f", {self._failed} failed" if self._failed else "")
        share = made + sum(self._shares.values())
        if self._began and 0 < share < self._total:
            left = (time.monotonic() - self._start) / share * (self._total - share)
            text += f", about {_duration(left)} left"
        return text

    def started(self, run: Run) -> None:
        self._began[run.hash] = time.monotonic()
        self._progress.reset(self._now, description=run.id, visible=True, total=None, state="")

    def progress(self, run: Run, stage: str, done: int, total: int | None) -> None:
        state = f"{stage} {done}" + (f"/{total}" if total else "")
        spent = time.monotonic() - self._began[run.hash]
        if total and 0 < done < total and spent > 5:
            state += f", {_duration(spent / done * (total - done))} left"
        self._shares[run.hash] = done / total if total else 0.0
        self._progress.update(self._now, completed=done, total=total, state=state)
        share = self._done + self._failed + sum(self._shares.values())
        self._progress.update(self._all, completed=share, state=self._state())

    def _ended(self, run: Run) -> None:
        self._shares.pop(run.hash, None)
        self._progress.update(self._now, visible=False)
        made = self._done + self._failed
        self._progress.update(self._all, completed=made, state=self._state())
        self._after()

    def finished(self, run: Run) -> None:
        self._done += 1
        if run.hash in self._began and not self._console.is_terminal:
            seconds = time.monotonic() - self._began[run.hash]
            self._line(f"done {self._state()}: {run.id} in {_duration(seconds)}")
        self._ended(run)

    def failed(self, run: Run, message: str) -> None:
        self._failed += 1
        self._line(f"failed: {run.id}: {message}", "red")
        self._ended(run)

    def waiting(self, run: Run) -> None:
        if run.hash not in self._waited:
            self._waited.add(run.hash)
            self._line(f"waiting for {run.id}, which another process is making")

    def noted(self, run: Run, message: str) -> None:
        self._line(f"{run.id}: {message}", "yellow")

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes} min {rest:02d} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60:02d} min"
    )


def print_table(
    table: Table, scale: str, cells: Sequence[Cell], claims: Iterable[dict[str, Any]]
) -> None:
    """The table, its claims and its notes on standard output."""
    out = console()
    out.print(Text(f"{table.title} ({scale} scale)", style="bold"))
    out.print(Text(table.about, style="dim"))
    for block in blocks(table, cells):
        for part in _split(block, out.width):
            out.print(_rich(part))
    paper = " Second lines: the paper." if table.published else ""
    out.print(Text(f"{counts(cells)}.{paper}{legend(table, scale)}", style="dim"))
    for claim in claims:
        mark, colour = _CLAIM[claim["holds"]]
        out.print(Text(f"{mark} ", style=colour) + Text(claim["text"]))
        out.print(Text(f"  {claim['detail']}", style="dim"))
    for note in notes(table, scale, cells):
        out.print(Text(f"- {note}", style="dim"))
    sys.stdout.flush()


def _split(block: Block, width: int) -> list[Block]:
    """Blocks of columns that fit side by side."""
    first = max(len(row) for row, _ in block.rows) + 4
    sizes = [
        max(len(name), *(max(len(s[i].measured) + 2, len(s[i].paper) + 6) for _, s in block.rows))
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
            tuple((row, tuple(shown[i] for i in group)) for row, shown in block.rows),
            tuple(block.floors[i] for i in group) if block.floors else None,
        )
        for group in groups
    ]


def _rich(block: Block) -> RichTable:
    found = RichTable(header_style="bold", show_lines=False, pad_edge=False)
    found.add_column(title(block.metric), no_wrap=False)
    for name in block.columns:
        found.add_column(name, justify="right", no_wrap=True)
    for row, shown in block.rows:
        found.add_row(row, *map(_text, shown))
    if block.floors:
        found.add_section()
        found.add_row(Text(block.floor_label, style="dim italic"), *block.floors)
    return found


def _text(shown: Shown) -> Text:
    style = "" if shown.status == "measured" else "dim italic"
    text = Text(shown.measured, style=style)
    if shown.mark:
        text.append(f" {shown.mark}", style=_COLOURS[shown.mark])
    if shown.paper:
        text.append(f"\npaper {shown.paper}", style="dim")
    return text
