"""The files of a table, as its finished runs fill it: written anew whenever one ends."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from jumpbench.files import disk_errors, make_folder
from jumpbench.tables.judging import claims, mentions
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.collect import collect
from jumpbench.tables.judging.readings import Records, read
from jumpbench.tables.judging.recorded_runs import RecordedRuns
from jumpbench.tables.judging.table_provenance import table_provenance
from jumpbench.tables.planning.grid import unique_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.runs import LOCK, METRICS
from jumpbench.tables.views.captions import SAMPLES
from jumpbench.tables.views.drawing import draw
from jumpbench.tables.views.filled import Filled
from jumpbench.tables.views.render import write_all
from jumpbench.tables.views.runpictures import runs_of_rows
from jumpbench.tables.views.view import View, why_not_judged


class TableFiles:
    """A planned table with the numbers of its runs; ``table`` says those that its notes mention.

    ``recorded`` runs count as finished where their folders are elsewhere.

    Raises:
        UserError: as :func:`~jumpbench.tables.judging.mentions.numbers`.
    """

    def __init__(self, plan: TablePlan, recorded: RecordedRuns | None = None) -> None:
        self.plan, self._recorded = plan, recorded
        self.mentions = mentions.numbers(plan.table, plan.scale, plan.grid)
        self.table = mentions.filled(plan.table, plan.scale, self.mentions)
        self.not_judged = why_not_judged(self.table, plan.selection.changes)
        self.figures: list[Path] = []  # once it is written for good
        self.incomplete: set[str] = set()  # figures that lack samples of recorded runs
        self._records = Records(recorded)

    def runs(self) -> list[Run]:
        """The selected runs, and those that they need, but for recorded ones."""
        return (
            unique_runs(self._recorded.left(self.plan.part)) if self._recorded else self.plan.runs
        )

    def cells(self) -> list[Cell]:
        plan = self.plan
        return collect(self.table, plan.grid, self._records, plan.scale, not self.not_judged)

    def is_complete(self) -> bool:
        """Whether every selected run of every selected cell has a number."""
        return all(
            read(cell, run, self._records).value is not None
            for cell in self.plan.part if cell.asked for run in cell.runs
        )  # fmt: skip

    def write(self, final: bool = False, anew: bool = False) -> View:
        """Write the whole table as it stands now; ``final``: with figures and the code's age;
        ``anew``: figures of the same runs are drawn again, as the code draws them today.

        Calls on one table write in turn, each what the others have asked for too. One that is not
        final leaves it to a call that is writing.
        """
        lock = FileLock(make_folder(self.plan.folder) / LOCK)
        with disk_errors(self.plan.folder), contextlib.suppress(Timeout):
            lock.acquire(timeout=-1 if final else 0)
        try:
            if lock.is_locked:
                self.plan.renew()
            cells = self.cells()
            content = self.content(cells, final)
            view = self.view(cells, content)
            if lock.is_locked:
                self.figures = self._drawn(cells, anew) if final else []
                write_all(self.plan.folder, view, content, self.figures)
        finally:
            lock.release()
        return view

    def view(self, cells: Sequence[Cell], content: dict[str, Any]) -> View:
        changes = self.plan.selection.changes
        shown = content["claims"], content["provenance"], changes
        return View(self.table, self.plan.scale, cells, *shown, said=self.said(part=False))

    def said(self, part: bool) -> list[str]:
        """What a command line says behind the table's id to have it, or the selected part."""
        selection = self.plan.selection
        chosen = selection if part else Selection(self.plan.scale, overrides=selection.overrides)
        return [*chosen.words(), *(["recorded=true"] if self._recorded else [])]

    def content(self, cells: Sequence[Cell], final: bool = False) -> dict[str, Any]:
        """The content of ``table.json``."""
        plan = self.plan
        return {
            "table": self.table.id,
            "scale": plan.scale,
            "kind": self.table.scales[plan.scale].kind,
            "overrides": list(plan.selection.overrides),
            "changes": list(plan.selection.changes),  # those of them that can change a number
            "not_judged": self.not_judged or None,
            "seeds": plan.seeds,
            "mentions": self.mentions,  # numbers of its runs that its notes say
            "read": {name: metric.read_as for name, metric in self.table.metrics.items()},
            "cells": [cell.as_json() for cell in cells],
            "claims": claims.evaluate(self.table, cells, plan.scale, self.not_judged),
            "provenance": table_provenance(plan.grid, cells, final, self._recorded),
        }

    def _drawn(self, cells: Sequence[Cell], anew: bool) -> list[Path]:
        used = sorted({value.run for cell in cells for value in cell.values})
        filled = Filled(self.table, self.plan.grid, cells, self.plan.scale)
        paths = draw(filled, self.plan.folder / "figures", used, anew=anew) if used else []
        self.incomplete = filled.incomplete
        if self.table.figures is None and self._recorded:
            view = View(self.table, self.plan.scale, cells)
            lacking = (not (run / METRICS).is_file() for run in runs_of_rows(view).values())
            self.incomplete |= {SAMPLES} if any(lacking) else set()
        return paths
