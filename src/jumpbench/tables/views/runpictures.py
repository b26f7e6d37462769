"""Runs of a table to be shown, and their learning curves."""

import contextlib
import csv
import math
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from jumpbench.errors import UserError
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.runs import CURVES, TRAINING
from jumpbench.tables.runs.store import is_run_id, read_config, run_folder
from jumpbench.tables.views.view import View

POINTS = 160
"""Points of a learning curve."""
MOST_NEEDS = 100


def first_cells(view: View) -> dict[str, Cell]:
    """The first run of each cell, by its id, and the first cell that it fills; one of a reference
    row if there is no other, since its exact values may come out of another row's runs."""
    first, references = dict[str, Cell](), _references(view)
    for cell in sorted(view.cells, key=lambda cell: cell.row in references):
        for value in cell.values[:1]:
            if is_run_id(value.run):
                first.setdefault(value.run, cell)
    return first


def runs_of_rows(view: View) -> dict[str, Path]:
    """The folder of a run of each row, by what the row and its column are called: in the column
    that most rows have, so that they can be compared, else in the first one. A reference row has
    the runs that no other row has."""
    runs: dict[str, dict[str, str]] = {}
    references, owners = _references(view), first_cells(view)
    for cell in view.cells:
        for value in cell.values[:1]:
            if value.run not in owners:
                continue
            if cell.row not in references or owners[value.run].row == cell.row:
                runs.setdefault(cell.row, {}).setdefault(cell.column, value.run)
    filled = Counter(column for row in runs.values() for column in row)
    chosen = {row: max(there, key=lambda c: filled[c]) for row, there in runs.items()}
    return {
        f"{view.row_head(row)} ({view.column_head(column)})": run_folder(runs[row][column])
        for row, column in chosen.items()
    }


def _references(view: View) -> set[str]:
    return {row.name for row in view.table.rows if row.reference}


def trained_runs(folder: Path, seen: set[Path] | None = None) -> Iterator[Path]:
    """The run and those beside it that it needs, as far as they have logged a training."""
    seen = set() if seen is None else seen
    seen.add(folder)
    for need in _needed(folder):
        if need not in seen and len(seen) < MOST_NEEDS:  # a damaged one may need itself
            yield from trained_runs(need, seen)
    if os.path.isfile(folder / TRAINING / CURVES):
        yield folder


def _needed(folder: Path) -> list[Path]:
    """Folders under ``needs`` of a run's configuration, those of the same outputs alone."""
    with contextlib.suppress(UserError, AttributeError):
        needs = (read_config(folder).get("needs") or {}).values()
        places = [Path(need) for need in needs if isinstance(need, str)]
        return [place for place in places if place.parent.parent == folder.parent.parent]
    return []


def learning_curve(run: Path) -> tuple[str, list[tuple[float, float]]] | None:
    """(name, [(step, value), ...]) of the first loss that a run logged, thinned to ``POINTS``."""
    with contextlib.suppress(OSError, csv.Error):
        with (run / TRAINING / CURVES).open(newline="", errors="replace") as file:
            rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name and name != "step"] if rows else []
        for name in sorted(names, key=lambda n: ("loss" not in n, names.index(n))):
            points = [p for row in rows if (p := _point(row, name)) is not None]
            if len(points) > 1:
                stride = -(-len(points) // POINTS)
                thinned = points[::stride]
                return name, thinned if thinned[-1] == points[-1] else [*thinned, points[-1]]
    return None


def _point(row: dict[str, str], name: str) -> tuple[float, float] | None:
    try:
        point = float(row["step"]), float(row[name])
    except (KeyError, TypeError, ValueError):
        return None
    return point if all(map(math.isfinite, point)) else None
