"""Where the numbers of a table come from: machines, code and time of the runs that fill it."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from statistics import fmean
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.recorded_runs import RecordedRuns
from jumpbench.tables.planning.grid import GridCell, unique_runs
from jumpbench.tables.planning.models import is_model
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.run_places import Purpose, run_places, steps_of, work_digest
from jumpbench.tables.runs import METRICS, PROVENANCE
from jumpbench.tables.runs.attempts import attempts_of
from jumpbench.tables.runs.codeage import is_outdated
from jumpbench.tables.runs.provenance import code_version, now, versions
from jumpbench.tables.runs.store import read_json

SEVERAL = "several"
"""In place of the digest of a file that differed between attempts: it is like no other."""

# What a provenance.json of odd content raises; the cell's number does not depend on it.
DAMAGED = (UserError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def table_provenance(
    grid: Sequence[GridCell],
    cells: Iterable[Cell],
    with_age: bool,
    recorded: RecordedRuns | None = None,
) -> dict[str, Any]:
    """The entry ``provenance`` of ``table.json``; ``with_age``: also which runs are older than
    their code. ``recorded`` runs have no folder here; what their record says of them is kept."""
    used = {value.run for cell in cells for value in cell.values}
    runs = [run for run in unique_runs(grid) if run.id in used]
    origins: dict[str, dict[str, Any]] = {}
    outdated, elsewhere = [], []
    for run in runs:
        if recorded and not os.path.isfile(run.folder / METRICS):
            elsewhere.append(run)
            continue
        with contextlib.suppress(*DAMAGED):
            origin = read_json(run.folder / PROVENANCE, "delete it")
            entry, seconds = _origin(origin), _wall_seconds(origin)
            same = origins.setdefault(json.dumps(entry, sort_keys=True), {**entry, "runs": {}})
            same["runs"][run.id] = round(seconds, 1)
            if with_age and any(is_outdated(*one) for one in _made(run, origin)):
                outdated.append(run.id)
    listed = list(origins.values())
    if recorded and elsewhere:
        by_id = {run.id: run for run in elsewhere}
        for origin in recorded.origins(elsewhere):
            listed.append(origin)
            if with_age:
                theirs = (by_id[name] for name in origin["runs"])
                outdated += [run.id for run in theirs if recorded.is_outdated(run, origin)]
    models = {v: None for run in runs for v in run.config["needs"].values() if is_model(v)}
    return {
        **({"models": list(models)} if models else {}),
        "hardware": _all_of(listed, "hardware"), "run_commits": _all_of(listed, "made_by"),
        "n_runs": len(runs), "outdated_runs": outdated,
        "run_seconds": round(sum(sum(origin["runs"].values()) for origin in listed), 1),
        "origins": listed,
        "seconds": measured_seconds(grid, recorded, elsewhere), "collected": now(),
        "collected_by": {**code_version(), "versions": versions()},
    }  # fmt: skip


def _made(run: Run, origin: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Configuration and provenance of every attempt at a run and at those that it needs; one whose
    folder has none is taken for as old as the run itself."""
    for one in run.with_needs():
        file = one.folder / PROVENANCE
        made = read_json(file, "delete it") if os.path.isfile(file) else origin
        for attempt in attempts_of(made):
            yield one.config, dict(attempt)


def _origin(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The code and the machine of a run, which it shares with others: those of all its attempts."""
    attempts = attempts_of(provenance)
    commits = {one["commit"] for one in attempts}
    edited: dict[str, str] = {}
    for name, digest in (item for one in attempts for item in (one.get("edited") or {}).items()):
        edited[name] = digest if edited.get(name, digest) == digest else SEVERAL
    return {
        "made_by": list(dict.fromkeys(map(_version, attempts))),
        **({"commit": provenance["commit"]} if len(commits) == 1 else {}),
        **({"edited": edited} if edited else {}),
        "hardware": list(dict.fromkeys(map(_machine, attempts))),
    }


def _machine(provenance: Mapping[str, Any]) -> str:
    machine = provenance["hardware"]
    device = f"{machine['gpu']}, " if machine.get("gpu") else ""
    return f"{device}{machine['cpu']}, {provenance['threads']} threads"


def _all_of(origins: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(word for origin in origins for word in origin[key]))


def measured_seconds(
    grid: Iterable[GridCell],
    recorded: RecordedRuns | None = None,
    elsewhere: Iterable[Run] = (),
) -> list[dict[str, Any]]:
    """Mean seconds of the finished runs of every row and column, as ``table.json`` keeps them:
    by the clock, and of the processor where every run noted them. ``work`` is what they do at a
    step (:func:`~jumpbench.tables.planning.run_places.work_digest`): a plan whose runs do something
    else does not go by their seconds.

    ``elsewhere`` are ``recorded`` runs; where a row and column has no other ones, and for what
    such a row needs, the seconds are those of the record.
    """
    grid = list(grid)
    seconds: dict[tuple[Purpose, int | None, str], list[tuple[float, float]]] = {}
    for place, run in run_places(grid).values():
        file = run.folder / PROVENANCE
        if os.path.isfile(file):
            with contextlib.suppress(*DAMAGED):
                origin = read_json(file, "delete it")
                both = _wall_seconds(origin), float(origin.get("processor_seconds", "nan"))
                kind = (place, steps_of(run), work_digest(run))
                seconds.setdefault(kind, []).append(both)
    here = [
        {
            "row": place.row, "column": place.column, "needed": place.name or None,
            "steps": steps, "work": work, "runs": len(each),
            "seconds": round(fmean(w for w, _ in each), 2),
            **_processor([busy for _, busy in each]),
        }
        for (place, steps, work), each in seconds.items()
    ]  # fmt: skip
    if recorded is None:
        return here
    away = {run.id for run in elsewhere}
    places: set[tuple[str, str | None]] = set()
    for cell in grid:
        if any(run.id in away for run in cell.runs):
            places |= {(cell.row.name, cell.column.name), (cell.row.name, None)}
    keys = ("row", "column", "needed", "steps")
    known = {tuple(one[key] for key in keys) for one in here}
    said = recorded.seconds(places)
    return here + [one for one in said if tuple(one[key] for key in keys) not in known]


def _processor(seconds: list[float]) -> dict[str, float]:
    mean = fmean(seconds)
    return {"processor": round(mean, 2)} if 0 <= mean < inf else {}


def _wall_seconds(provenance: Mapping[str, Any]) -> float:
    """Seconds that a run took.

    Raises:
        ValueError: its provenance holds something else.
    """
    seconds = float(provenance["wall_seconds"])
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"wall_seconds={seconds}")
    return seconds


def _version(provenance: Mapping[str, Any]) -> str:
    """``commit 8f574c3d93 (with local changes)``, or the version of an installed package."""
    if provenance["commit"] is None:
        return f"jumpbench {provenance['versions']['jumpbench']}"
    changes = " (with local changes)" if provenance["dirty"] else ""
    return f"commit {str(provenance['commit'])[:10]}{changes}"
