"""``jumpbench status``: which runs of a table are done, and what keeps the others."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from jumpbench.errors import UserError
from jumpbench.tables.commands.pace import far
from jumpbench.tables.language.spec import load
from jumpbench.tables.launchers.queue import has_lost_its_job, job_of, queued_as, why_ended
from jumpbench.tables.planning.grid import GridCell, build, unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs import CHECKPOINTS, STEP
from jumpbench.tables.runs.failures import read_failure
from jumpbench.tables.runs.held import is_running
from jumpbench.tables.runs.job import told_progress
from jumpbench.tables.runs.store import read_json, read_metrics
from jumpbench.tables.views.console import console, print_json, words

_STYLES = {
    "done": "green", "running": "yellow", "queued": "cyan", "stopped": "yellow",
    "failed": "red", "missing": "dim",
}  # fmt: skip


def state_of(run: Run) -> tuple[str, str]:
    """(done | running | queued | stopped | failed | missing, why) of one run."""
    folder = run.folder
    try:
        if read_metrics(folder) is not None:
            return "done", ""
    except UserError as error:
        return "failed", str(error)
    if not folder.is_dir():
        return "missing", ""
    state, job = queued_as(folder), job_of(folder).get("id")
    if state == "running" or is_running(folder):
        words = [f"job {job}"] if state else []
        return "running", ", ".join([*words, *_reached(folder)])
    if state:
        return "queued", f"job {job}"
    if why := read_failure(folder):
        return "failed", why
    if has_lost_its_job(folder):
        return "failed", why_ended(run)
    return _stopped(folder) if (folder / CHECKPOINTS).is_dir() else ("missing", "")


def _reached(folder: Path) -> list[str]:
    """What a run that is being made says of itself: ``fit 110/1000``, ``loss 0.123``."""
    if (event := told_progress(folder)) is None:
        return []
    stage, done, total, watched = event
    return [f"{stage} {far(done, total)}", *filter(None, [watched])]


def _stopped(folder: Path) -> tuple[str, str]:
    """A training that was stopped or killed: the step from which it will be resumed."""
    where = "behind its last checkpoint"
    with contextlib.suppress(UserError, KeyError, TypeError):
        reached = read_json(folder / CHECKPOINTS / STEP, "delete it")
        where = f"at step {int(reached['step'])}"
        if reached["steps"]:
            where += f" of {int(reached['steps'])}"
    return "stopped", f"{where}, will be resumed"


def print_status(table_id: str, selection: Selection, as_json: bool = False) -> bool:
    """Which runs of a table are done; True if all are."""
    content = status_of(table_id, selection, build(load(table_id), selection))
    if as_json:
        print_json(content)
    else:
        out = console()
        out.print(words(out, f"{table_id}, {selection.scale}", "bold"))
        for entry in content["runs"]:
            out.print(status_line(out, entry), soft_wrap=True)
        out.print(counted(content))
    return content["done"] == len(content["runs"])


def status_of(table_id: str, selection: Selection, grid: Sequence[GridCell]) -> dict[str, Any]:
    """Table, scale, every run with its state, and how many there are of each state."""
    used: dict[str, list[str]] = {}
    for cell in grid:
        for run in cell.runs:
            place = f"{cell.row.name} / {cell.column.name}"
            if place not in used.setdefault(run.hash, []):
                used[run.hash].append(place)
    runs = unique_runs(grid)
    states = [state_of(run) for run in runs]
    listed: list[dict[str, Any]] = [
        {"run": run.id, "seed": run.seed, "fills": used.get(run.hash, []),
         "state": state, "why": why, "folder": str(run.folder)}
        for run, (state, why) in zip(runs, states, strict=True)
    ]  # fmt: skip
    count = {state: sum(s == state for s, _ in states) for state in _STYLES}
    return {"table": table_id, "scale": selection.scale, "runs": listed, **count}


def status_line(out: Console, entry: dict[str, Any]) -> Text:
    """A line, not a row of a table: an id is never broken, and can be copied."""
    places = entry["fills"] or ["needed by other runs"]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    why = f": {entry['why']}" if entry["why"] else ""
    text = words(out, f"{entry['state']:<8}", _STYLES[entry["state"]])
    return text + words(out, f"{entry['run']}  ") + words(out, f"{places[0]}{more}{why}", "dim")


def counted(content: dict[str, Any]) -> str:
    """``3 done, 1 running of 4 runs``."""
    states = ", ".join(f"{content[state]} {state}" for state in _STYLES if content[state])
    return f"{states or 'nothing to run'} of {len(content['runs'])} runs"
