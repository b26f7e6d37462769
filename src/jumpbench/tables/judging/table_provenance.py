"""Where the numbers of a table come from: machines, code and time of the runs that fill it."""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from statistics import fmean
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.planning.grid import GridCell, unique_runs
from jumpbench.tables.planning.models import is_model
from jumpbench.tables.planning.run_places import Place, run_places, steps_of
from jumpbench.tables.runs import PROVENANCE
from jumpbench.tables.runs.codeage import is_outdated
from jumpbench.tables.runs.provenance import code_version, now, versions
from jumpbench.tables.runs.store import read_json

# What a provenance.json of odd content raises; the cell's number does not depend on it.
DAMAGED = (UserError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def table_provenance(
    grid: Sequence[GridCell], cells: Iterable[Cell], with_age: bool
) -> dict[str, Any]:
    """The entry ``provenance`` of ``table.json``; ``with_age``: also which runs are older than
    their code."""
    used = {value.run for cell in cells for value in cell.values}
    runs = [run for run in unique_runs(grid) if run.id in used]
    hardware: dict[str, None] = {}
    commits: dict[str, None] = {}
    outdated, seconds = [], 0.0
    for run in runs:
        with contextlib.suppress(*DAMAGED):
            origin = read_json(run.folder / PROVENANCE, "delete it")
            machine = origin["hardware"]
            device = f"{machine['gpu']}, " if machine.get("gpu") else ""
            hardware[f"{device}{machine['cpu']}, {origin['threads']} threads"] = None
            commits[_version(origin)] = None
            if with_age and is_outdated(run.config, origin):
                outdated.append(run.id)
            seconds += _wall_seconds(origin)
    models = {v: None for run in runs for v in run.config["needs"].values() if is_model(v)}
    return {
        **({"models": list(models)} if models else {}),
        "hardware": list(hardware), "run_commits": list(commits), "n_runs": len(runs),
        "outdated_runs": outdated, "run_seconds": round(seconds, 1),
        "seconds": measured_seconds(grid), "collected": now(),
        "collected_by": {**code_version(), "versions": versions()},
    }  # fmt: skip


def measured_seconds(grid: Iterable[GridCell]) -> list[dict[str, Any]]:
    """Mean seconds of the finished runs of every row and column, as ``table.json`` keeps them:
    by the clock, and of the processor where every run noted them."""
    seconds: dict[tuple[Place, int | None], list[tuple[float, float]]] = {}
    for place, run in run_places(grid).values():
        file = run.folder / PROVENANCE
        if os.path.isfile(file):
            with contextlib.suppress(*DAMAGED):
                origin = read_json(file, "delete it")
                both = _wall_seconds(origin), float(origin.get("processor_seconds", "nan"))
                seconds.setdefault((place, steps_of(run)), []).append(both)
    return [
        {
            "row": place.row, "column": place.column, "needed": place.name or None,
            "steps": steps, "runs": len(each), "seconds": round(fmean(w for w, _ in each), 2),
            **_processor([busy for _, busy in each]),
        }
        for (place, steps), each in seconds.items()
    ]  # fmt: skip


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
