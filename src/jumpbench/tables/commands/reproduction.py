"""A table from end to end: grid -> runs -> launcher -> cells -> files and terminal."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import make_folder
from jumpbench.paths import outputs_root
from jumpbench.tables.commands.progress import Terminal
from jumpbench.tables.commands.run_seconds import measured_seconds, wall_seconds
from jumpbench.tables.judging import claims as claim_checks
from jumpbench.tables.judging import mentions
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.collect import Records, collect, read
from jumpbench.tables.language.spec import Table, load
from jumpbench.tables.launchers import Launcher
from jumpbench.tables.planning import grid as grids
from jumpbench.tables.planning.grid import GridCell, Selection
from jumpbench.tables.planning.plan import Run
from jumpbench.tables.runs import PROVENANCE
from jumpbench.tables.runs.attempt import forget
from jumpbench.tables.runs.codeage import is_outdated
from jumpbench.tables.runs.provenance import code_version, now, versions
from jumpbench.tables.runs.store import read_json, read_metrics
from jumpbench.tables.views.console import print_table
from jumpbench.tables.views.figures import Filled, draw, functions
from jumpbench.tables.views.layout import View, why_not_judged
from jumpbench.tables.views.render import FORMATS, write_all

REFRESH_SECONDS = 2.0


class Reproduction:
    """One table at one scale, with the runs that fill it.

    ``part`` is what the selection names: what is made, printed and answered for. ``grid`` is the
    whole table with all its finished runs: what the files hold.
    """

    def __init__(self, table: Table, selection: Selection) -> None:
        self.table, self.selection = table, selection
        self.part: list[GridCell] = grids.build(table, selection)
        self.seeds = sorted({*_known_seeds(self.folder), *_asked_seeds(self.part)})
        self.grid: list[GridCell] = grids.whole(table, selection, self.seeds)
        self.mentions = mentions.numbers(table, selection.scale, self.grid)
        self.table = mentions.filled(table, selection.scale, self.mentions)
        self.runs: list[Run] = grids.unique_runs(self.part)
        self.records = Records()
        self.drawn: list[Path] = []  # its figures, once it is written for good
        self._written = 0.0

    @property
    def folder(self) -> Path:
        """Where the table's files are: its own for every set of overrides and foreign file."""
        return outputs_root() / "tables" / self.table.id / self.selection.label(self.table)

    @property
    def not_judged(self) -> str:
        return why_not_judged(self.table, self.selection.changes)

    def cells(self) -> list[Cell]:
        judge = not self.not_judged
        return collect(self.table, self.grid, self.records, self.selection.scale, judge)

    def is_complete(self) -> bool:
        """Whether every selected run of every selected cell has a number."""
        asked = [cell for cell in self.part if cell.asked]
        return all(
            read(cell, run, self.records).value is not None for cell in asked for run in cell.runs
        )

    def make(self, launcher: Launcher, fresh: bool = False) -> None:
        """Make every selected run that is not finished; the files grow while runs end.

        ``fresh``: those that fill a cell are made again, those that they need are not.
        """
        make_folder(self.folder)
        if fresh:
            forget([run.folder for run in self.runs if run.hash in self._labels()])
        self.write()  # an unwritable folder is told before anything runs
        pending = [run for run in self.runs if not _finished(run)]
        if pending:
            functions(self.table)  # so is a figure that cannot be drawn
            with Terminal(pending, self._refresh, self._names()) as terminal:
                launcher.launch(pending, terminal, self._labels())

    def _called(self, cell: GridCell) -> tuple[str, str]:
        """The cell's row and column, as its scale calls them."""
        heads = self.table.scales[self.selection.scale].heads
        row, column = cell.row.name, cell.column.name
        return heads.rows.get(row, row), heads.columns.get(column, column)

    def _names(self) -> dict[str, str]:
        """What each run is for: the first cell that it fills."""
        names: dict[str, str] = {}
        for cell in self.part:
            for run in cell.runs:
                names.setdefault(run.hash, " / ".join(self._called(cell)))
        return names

    def _labels(self) -> dict[str, dict[str, Any]]:
        """What experiment loggers call each run: the first cell that it fills names it."""
        labels: dict[str, dict[str, Any]] = {}
        for cell in self.part:
            row, column = self._called(cell)
            place: dict[str, Any] = {"table": self.table.id, "scale": self.selection.scale}
            place |= {"row": row, "column": column}
            papers = {
                metric: number.value
                for metric, printed in self.table.published.items()
                if (number := printed.get(cell.row.name, {}).get(cell.column.name)) is not None
            }
            place |= {"paper": papers} if papers else {}
            for run in cell.runs:
                labels.setdefault(run.hash, place)
        return labels

    def mirror(self) -> None:
        """In the logger that the call asks for, if any: runs that it has not yet, and the table."""
        wanted = next((run.config["logger"] for run in self.runs if run.config.get("logger")), None)
        if not wanted:
            return
        from jumpbench.tables.commands.tablemirror import mirror_table
        from jumpbench.tables.runs.mirrors import mirror_finished

        labels = self._labels()
        for run in self.runs:
            if _finished(run):
                mirror_finished(run.folder, run.placed(), labels.get(run.hash, {}), run.hash)
        content = read_json(self.folder / "table.json", "make the table again")
        heads = self.table.scales[self.selection.scale].heads
        mirror_table(wanted, self.folder, content, self.table.title, heads)

    def _refresh(self) -> None:
        if time.monotonic() - self._written >= REFRESH_SECONDS:
            with contextlib.suppress(UserError):  # the run itself reports a disk that refuses
                self.write()

    def write(self, final: bool = False, anew: bool = False) -> View:
        """Write the whole table as it stands now; ``final``: with figures and the code's age;
        ``anew``: figures of the same runs are drawn again, as the code draws them today."""
        cells = self.cells()
        content = self.content(cells, final)
        view = self.view(cells, content)
        self.drawn = self._figures(cells, anew) if final else []
        write_all(self.folder, view, content, self.drawn)
        self._written = time.monotonic()
        return view

    def view(self, cells: Sequence[Cell], content: dict[str, Any]) -> View:
        return View(
            self.table, self.selection.scale, cells, content["claims"], content["provenance"],
            self.selection.changes,
        )  # fmt: skip

    def content(self, cells: Sequence[Cell], final: bool = False) -> dict[str, Any]:
        """The content of ``table.json``."""
        scale = self.selection.scale
        return {
            "table": self.table.id,
            "scale": scale,
            "kind": self.table.scales[scale].kind,
            "overrides": list(self.selection.overrides),
            "changes": list(self.selection.changes),  # those of them that can change a number
            "not_judged": self.not_judged or None,
            "seeds": self.seeds,
            "mentions": self.mentions,  # numbers of its runs that its notes say
            "cells": [cell.as_json() for cell in cells],
            "claims": claim_checks.evaluate(self.table, cells, scale, self.not_judged),
            "provenance": {
                **self._runs_provenance(cells, final),
                "collected": now(),
                "collected_by": {**code_version(), "versions": versions()},
            },
        }

    def _runs_provenance(self, cells: Sequence[Cell], final: bool) -> dict[str, Any]:
        used = {value.run for cell in cells for value in cell.values}
        hardware: dict[str, None] = {}
        commits: dict[str, None] = {}
        outdated, seconds = [], 0.0
        runs = [run for run in grids.unique_runs(self.grid) if run.id in used]
        for run in runs:
            with contextlib.suppress(*_DAMAGED):
                one = read_json(run.folder / PROVENANCE, "delete it")
                machine = one["hardware"]
                device = f"{machine['gpu']}, " if machine.get("gpu") else ""
                hardware[f"{device}{machine['cpu']}, {one['threads']} threads"] = None
                commits[_version(one)] = None
                if final and is_outdated(run.config, one):
                    outdated.append(run.id)
                seconds += wall_seconds(one)
        return {
            "hardware": list(hardware), "run_commits": list(commits), "n_runs": len(runs),
            "outdated_runs": outdated, "run_seconds": round(seconds, 1),
            "seconds": measured_seconds(self.grid),
        }  # fmt: skip

    def _figures(self, cells: Sequence[Cell], anew: bool) -> list[Path]:
        used = sorted({value.run for cell in cells for value in cell.values})
        if not used:
            return []
        filled = Filled(self.table, self.grid, cells, self.selection.scale)
        return draw(filled, self.folder / "figures", used, anew=anew)


# What a provenance.json of odd content raises; the cell's number does not depend on it.
_DAMAGED = (UserError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def _version(provenance: dict[str, Any]) -> str:
    """``commit 8f574c3d93 (with local changes)``, or the version of an installed package."""
    if provenance["commit"] is None:
        return f"jumpbench {provenance['versions']['jumpbench']}"
    changes = " (with local changes)" if provenance["dirty"] else ""
    return f"commit {str(provenance['commit'])[:10]}{changes}"


def _finished(run: Run) -> bool:
    try:
        return read_metrics(run.folder) is not None
    except UserError:
        return False  # the launcher reports the damaged file


def _asked_seeds(part: Sequence[GridCell]) -> set[int]:
    return {run.seed for cell in part for run in cell.runs}


def _known_seeds(folder: Path) -> set[int]:
    """Seeds that earlier calls have asked for: their runs belong to the table too."""
    with contextlib.suppress(UserError, KeyError, TypeError):
        seeds = read_json(folder / "table.json", "make the table again")["seeds"]
        return {s for s in seeds if isinstance(s, int) and 0 <= s < 10**9}
    return set()


def reproduce(table_id: str, selection: Selection, launcher: Launcher, fresh: bool = False) -> bool:
    """Make and print one table; True if every selected cell has a number.

    Raises:
        UserError: bad input, told before anything runs.
    """
    job = Reproduction(load(table_id), selection)
    if not any(cell.asked or cell.row.cited for cell in job.part):
        raise UserError(
            f"{table_id}: nothing of this selection is part of the {selection.scale} scale; "
            "choose other rows or columns, or scale=paper"
        )
    for note in grids.not_applied(job.part, job.table, selection):
        print(note)
    try:
        job.make(launcher, fresh)
    finally:
        view = job.write(final=True)
        print_table(view.of(*grids.chosen(job.table, selection)))
        print(f"written: {job.folder}/{FORMATS}")
    job.mirror()
    return job.is_complete()
