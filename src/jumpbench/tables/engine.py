"""A table from end to end: grid -> runs -> launcher -> cells -> files and terminal."""

import contextlib
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import make_folder
from jumpbench.paths import outputs_root
from jumpbench.tables import claims as claim_checks
from jumpbench.tables import grid as grids
from jumpbench.tables.collect import Cell, Records, collect
from jumpbench.tables.console import Terminal, print_table
from jumpbench.tables.figures import Filled, draw, functions
from jumpbench.tables.grid import GridCell, Selection
from jumpbench.tables.launchers import launcher as make_launcher
from jumpbench.tables.plan import Run
from jumpbench.tables.provenance import code_version, now, versions
from jumpbench.tables.render import write_all
from jumpbench.tables.spec import Table, load
from jumpbench.tables.store import read_json, read_metrics, write_json

REFRESH_SECONDS = 2.0


class Reproduction:
    """One table at one scale, with the runs that fill it."""

    def __init__(self, table: Table, selection: Selection) -> None:
        self.table, self.selection = table, selection
        self.grid: list[GridCell] = grids.build(table, selection)
        self.runs: list[Run] = grids.unique_runs(self.grid)
        self.records = Records()
        self._written = 0.0

    @property
    def folder(self) -> Path:
        return outputs_root() / "tables" / self.table.id / self.selection.scale

    def cells(self) -> list[Cell]:
        return collect(self.table, self.grid, self.records, self.selection.scale)

    def make(self, launcher: str) -> None:
        """Make every run that is not finished; the table files grow while runs end."""
        engine = make_launcher(launcher)
        make_folder(self.folder)
        self.write()  # a malformed claim or an unwritable folder is told before anything runs
        pending = [run for run in self.runs if not _finished(run)]
        if pending:
            functions(self.table)  # so is a figure that cannot be drawn
            with Terminal(pending, self._refresh) as terminal:
                engine.launch(pending, terminal, self._labels())

    def _labels(self) -> dict[str, dict[str, str]]:
        """What experiment loggers call each run: the first cell that it fills names it."""
        labels: dict[str, dict[str, str]] = {}
        for cell in self.grid:
            for run in cell.runs:
                row = {"group": self.table.id, "job_type": cell.row.name}
                labels.setdefault(run.hash, row)
        return labels

    def _refresh(self) -> None:
        if time.monotonic() - self._written >= REFRESH_SECONDS:
            with contextlib.suppress(UserError):  # the run itself reports a disk that refuses
                self.write()

    def write(self, figures: bool = False) -> dict[str, Any]:
        """Write the table as it stands now, and its figures if asked."""
        cells = self.cells()
        record = self.record(cells)
        drawn = self._figures(cells) if figures else []
        write_all(self.folder, self.table, record, cells, drawn)
        self._written = time.monotonic()
        return record

    def record(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """The content of ``table.json``."""
        return {
            "table": self.table.id,
            "scale": self.selection.scale,
            "selection": {
                k: v for k, v in dataclasses.asdict(self.selection).items() if v and k != "scale"
            },
            "cells": [cell.as_json() for cell in cells],
            "claims": claim_checks.evaluate(self.table, cells, self.selection.scale),
            "provenance": {
                **code_version(),
                "versions": versions(),
                **self._runs_provenance(cells),
            },
        }

    def _runs_provenance(self, cells: Sequence[Cell]) -> dict[str, Any]:
        used = {run_id for cell in cells if cell.status == "measured" for run_id in cell.run_ids}
        hardware: dict[str, None] = {}
        commits: dict[str, None] = {}
        seconds = 0.0
        for run in self.runs:
            path = run.folder / "provenance.json"
            if run.id not in used or not path.exists():
                continue
            with contextlib.suppress(UserError, KeyError, TypeError):
                one = read_json(path, "delete it")
                machine = one["hardware"]
                device = f"{machine['gpu']}, " if machine.get("gpu") else ""
                text = f"{device}{machine['cpu']}, {one['threads']} threads"
                hardware[text] = None
                commits[f"{str(one['commit'])[:10]}{' (dirty)' * bool(one['dirty'])}"] = None
                seconds += float(one["wall_seconds"])
        return {
            "hardware": list(hardware), "run_commits": list(commits),
            "run_seconds": round(seconds, 1), "collected": now(),
        }  # fmt: skip

    def _figures(self, cells: Sequence[Cell]) -> list[Path]:
        """Draw the figures, or keep those on disk if they show the same runs."""
        folder = self.folder / "figures"
        shown = sorted({run for c in cells if c.status == "measured" for run in c.run_ids})
        if not shown or not self.table.figures:
            return []
        stamp, content = folder / "drawn.json", {"figures": list(self.table.figures), "runs": shown}
        if stamp.exists() and json.loads(stamp.read_text()) == content:
            return [path for path in sorted(folder.glob("*.png"))]
        drawn = draw(Filled(self.table, self.grid, cells), folder)
        write_json(stamp, content)
        return drawn


def _finished(run: Run) -> bool:
    try:
        return read_metrics(run.folder) is not None
    except UserError:
        return False  # the launcher reports the damaged file


def reproduce(table_id: str, selection: Selection, launcher: str = "serial") -> bool:
    """Make and show one table; True if every asked cell has a number.

    Raises:
        UserError: bad input, told before anything runs.
    """
    job = Reproduction(load(table_id), selection)
    if not any(cell.asked or cell.row.cited for cell in job.grid):
        raise UserError(
            f"{table_id}: nothing of this selection is part of the {selection.scale} scale; "
            "choose other rows or columns, or scale=paper"
        )
    try:
        job.make(launcher)
    finally:
        record = job.write(figures=True)
        cells = job.cells()
        print_table(job.table, selection.scale, cells, record["claims"])
        print(f"written: {job.folder}/table.{{json,md,tex,html,csv}}")
    return all(cell.status == "measured" for cell in cells if cell.asked)
