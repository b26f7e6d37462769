"""``jumpbench list``, ``status``, ``run`` and ``data``: what there is, what is done, one run."""

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

from jumpbench.errors import DataMissing, UserError
from jumpbench.names import no_such
from jumpbench.tables.commands.progress import far
from jumpbench.tables.commands.run_seconds import duration, kept
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.language.types import SCALES
from jumpbench.tables.launchers.queue import has_lost_its_job, job_of, queued_as, why_ended
from jumpbench.tables.planning.grid import GridCell, Selection, build, unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import CHECKPOINTS, STEP
from jumpbench.tables.runs.job import told_progress
from jumpbench.tables.runs.store import is_running, read_failure, read_json, read_metrics
from jumpbench.tables.views.console import console, print_json, words

if TYPE_CHECKING:
    from jumpbench.data.catalog import Dataset

_STYLES = {
    "done": "green", "running": "yellow", "queued": "cyan", "stopped": "yellow",
    "failed": "red", "missing": "dim",
}  # fmt: skip
COSTS = (
    "cost, smoke/small/medium/paper: A minutes on a CPU, B minutes on a GPU, C up to half an hour "
    "on a GPU, D more"
)


def print_list(as_json: bool = False) -> None:
    """Every table: what it shows, cost class per scale, data it needs, what is recorded."""
    listed, broken = table_list()
    if as_json:
        print_json({"tables": listed, "malformed": broken})
        return
    out = console()
    if out.width < TABULAR:
        _print_lines(out, listed)
    else:
        _print_tabular(out, listed)
    out.print(Text(f"{COSTS}; a record in brackets is of a part of the table", style="dim"))
    for line in broken:
        out.print(words(out, f"malformed: {line}", "red"), soft_wrap=True)


TABULAR = 110
"""Columns below which the list is lines: a table of five columns would break words there."""


def _print_lines(out: Console, listed: list[dict[str, Any]]) -> None:
    for entry in listed:
        out.print(words(out, entry["table"], "bold") + words(out, f"  {entry['title']}"))
        facts = [f"cost {entry['cost']}", f"data: {', '.join(entry['data']) or 'none'}"]
        facts += [f"recorded: {_records(entry)}"] if entry["recorded"] else []
        facts += [f"takes: {_times(entry)}"] if entry["seconds"] else []
        out.print(words(out, f"  {'; '.join(facts)}", "dim"))


def _print_tabular(out: Console, listed: list[dict[str, Any]]) -> None:
    table = RichTable(header_style="bold", pad_edge=False)
    for name in ("table", "what it shows", "cost", "takes", "data", "recorded"):
        table.add_column(name, overflow="fold", no_wrap=name == "table")
    for entry in listed:
        table.add_row(
            words(out, entry["table"]), words(out, entry["title"]), entry["cost"], _times(entry),
            ", ".join(entry["data"]) or "none", _records(entry) or words(out, "–"),
        )  # fmt: skip
    out.print(table)


def table_list() -> tuple[list[dict[str, Any]], list[str]]:
    """(what there is to say about every table, one line for every malformed file)."""
    listed, broken = [], []
    for table_id in available():
        try:
            table = load(table_id)
        except UserError as error:
            broken.append(str(error))
            continue
        known = {scale: kept(table, scale) for scale in table.scales}
        listed.append(
            {
                "table": table_id, "title": table.title, "about": table.about,
                "scales": {name: scale.kind for name, scale in table.scales.items()},
                "cost": cost_of(table.cost), "data": list(table.data),
                "recorded": [s for s in known if known[s].recorded],
                "recorded_in_part": [s for s in known if known[s].recorded == "part"],
                "seconds": {s: k.seconds for s, k in known.items() if k.seconds},
            }
        )  # fmt: skip
    return listed, broken


def _records(entry: Mapping[str, Any]) -> str:
    part = entry["recorded_in_part"]
    return ", ".join(f"({scale})" if scale in part else scale for scale in entry["recorded"])


def _times(entry: Mapping[str, Any]) -> str:
    return ", ".join(f"{scale} {duration(s)}" for scale, s in entry["seconds"].items())


def cost_of(cost: object) -> str:
    """Cost class per scale (``A/A/-/C``), or the one class of all."""
    if isinstance(cost, dict):
        return "/".join(str(cost.get(scale, "-")) for scale in SCALES)
    return str(cost or "?")


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


def print_data(names: Sequence[str], places: Sequence[str] = ()) -> bool:
    """Verify the named datasets, all if none is named, and those of ``NAME=PATH`` at their places.

    What is absent is fetched where that is possible: large archives for a named dataset alone.
    """
    from jumpbench.data.catalog import datasets
    from jumpbench.data.places import verify_at
    from jumpbench.data.published import confirm
    from jumpbench.paths import data_root

    known = datasets()
    data_root()  # one that cannot be is told once
    asked = [(name, "") for name in names] + [(n, p) for n, _, p in map(_parted, places)]
    for name, _ in asked:
        if name not in known:
            raise no_such("dataset", name, list(known))
    out, good = console(), True
    for name, place in asked or [(name, "") for name in known]:
        dataset = known[name]
        used = f" (used by {', '.join(dataset.used_by)})" if dataset.used_by else ""
        out.print(words(out, f"{name}: {dataset.about}{used}"), soft_wrap=True)
        print(f"reading {place or name} ...", file=sys.stderr, flush=True)
        try:
            if place:
                state = verify_at(dataset, place)
            else:
                state = (_had(dataset) if names else dataset.verify()) + confirm(name)
            style = "green"
        except UserError as error:
            good = False
            word = "missing" if isinstance(error, DataMissing) else "corrupt"
            state, style = f"{word}: {error}", "red"
        out.print(words(out, f"  {state}", style), soft_wrap=True)
    return good


def _parted(place: str) -> tuple[str, str, str]:
    """NAME, =, PATH.

    Raises:
        UserError: no path.
    """
    name, equals, path = place.partition("=")
    if not path:
        raise UserError(f"{place[:40]}: give NAME=PATH")
    return name, equals, path


def _had(dataset: "Dataset") -> str:
    """Verify a dataset; one that is absent is fetched first, if its address is known."""
    from jumpbench.data.published import FETCHED, fetch

    try:
        return dataset.verify()
    except DataMissing:
        if dataset.name not in FETCHED:
            raise
    with Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(),
        TransferSpeedColumn(), TimeRemainingColumn(), console=console(stderr=True),
        transient=True, disable=not console(stderr=True).is_terminal,
    ) as bars:  # fmt: skip
        lines: dict[str, TaskID] = {}

        def told(file: str, done: int, total: int | None) -> None:
            if file not in lines:
                lines[file] = bars.add_task(file)
                print(f"fetching {file} ...", file=sys.stderr, flush=True)
            bars.update(lines[file], completed=done, total=total)

        fetch(dataset.name, told=told)
    return dataset.verify()
