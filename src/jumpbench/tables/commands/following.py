"""``jumpbench status --watch``: runs of tables, followed until all have ended."""

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from jumpbench.tables.commands.pace import Pace
from jumpbench.tables.commands.progress import PLAIN_SECONDS
from jumpbench.tables.commands.status import counted, status_line, status_of
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.job import told_progress
from jumpbench.tables.runs.store import run_folder
from jumpbench.tables.views.console import console, words

LOOK_SECONDS = 2.0
_ORDER = ("running", "failed", "queued", "stopped", "missing")


def follow(tables: Sequence[str], selection: Selection) -> bool:
    """Show what runs do until each is done or has failed; True if all are done.

    In a terminal as many lines as fit, those of running ones first; elsewhere the counts, once a
    minute.
    """
    grids = {table: build(load(table), selection) for table in tables}
    out, paces = console(), dict[str, Pace]()
    told: float | None = None
    with (
        Live(console=out, auto_refresh=False)
        if out.is_terminal
        else contextlib.nullcontext() as live
    ):
        while True:
            found = [status_of(table, selection, grid) for table, grid in grids.items()]
            ended = all(c["done"] + c["failed"] == len(c["runs"]) for c in found)
            now = time.monotonic()
            if live is not None:
                live.update(_display(out, found, paces), refresh=True)
            elif ended or told is None or now - told >= PLAIN_SECONDS:
                told = now
                for content in found:
                    out.print(words(out, f"{content['table']}: {counted(content)}"), soft_wrap=True)
                out.file.flush()
            if ended:
                return all(content["done"] == len(content["runs"]) for content in found)
            time.sleep(LOOK_SECONDS)


def _display(out: Console, found: Sequence[dict[str, Any]], paces: dict[str, Pace]) -> Group:
    counts = [words(out, f"{c['table']}, {c['scale']}: {counted(c)}", "bold") for c in found]
    runs = [entry for c in found for entry in c["runs"] if entry["state"] != "done"]
    runs.sort(key=lambda entry: _ORDER.index(entry["state"]))
    room = max(out.height - len(counts) - 2, 1)
    lines = [status_line(out, _paced(entry, paces)) for entry in runs[:room]]
    for line in lines:
        line.truncate(out.width, overflow="ellipsis")
    rest = [words(out, f"and {len(runs) - room} more", "dim")] if len(runs) > room else []
    return Group(*counts, *lines, *rest)


def _paced(entry: dict[str, Any], paces: dict[str, Pace]) -> dict[str, Any]:
    """A run with its rate and the time that it has left, as far as they were seen from here."""
    event = told_progress(run_folder(entry["run"])) if entry["state"] == "running" else None
    if event is None:
        return entry
    stage, done, total, watched = event
    pace = paces.setdefault(entry["run"], Pace(time.monotonic()))
    pace.reached(stage, done, total, time.monotonic(), watched)
    return {**entry, "why": pace.said()}
