"""The files of a table, as its finished runs fill it: written anew whenever one ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpbench.tables.judging import claims, mentions
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.collect import Records, collect, read
from jumpbench.tables.judging.table_provenance import table_provenance
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.views.figures import Filled, draw
from jumpbench.tables.views.layout import View, why_not_judged
from jumpbench.tables.views.render import write_all


class TableFiles:
    """A planned table with the numbers of its runs; ``table`` says those that its notes mention.

    Raises:
        UserError: as :func:`~jumpbench.tables.judging.mentions.numbers`.
    """

    def __init__(self, plan: TablePlan) -> None:
        self.plan = plan
        self.mentions = mentions.numbers(plan.table, plan.scale, plan.grid)
        self.table = mentions.filled(plan.table, plan.scale, self.mentions)
        self.not_judged = why_not_judged(self.table, plan.selection.changes)
        self.figures: list[Path] = []  # once it is written for good
        self._records = Records()

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
        ``anew``: figures of the same runs are drawn again, as the code draws them today."""
        cells = self.cells()
        content = self.content(cells, final)
        view = self.view(cells, content)
        self.figures = self._drawn(cells, anew) if final else []
        write_all(self.plan.folder, view, content, self.figures)
        return view

    def view(self, cells: Sequence[Cell], content: dict[str, Any]) -> View:
        changes = self.plan.selection.changes
        shown = content["claims"], content["provenance"], changes
        return View(self.table, self.plan.scale, cells, *shown)

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
            "cells": [cell.as_json() for cell in cells],
            "claims": claims.evaluate(self.table, cells, plan.scale, self.not_judged),
            "provenance": table_provenance(plan.grid, cells, with_age=final),
        }

    def _drawn(self, cells: Sequence[Cell], anew: bool) -> list[Path]:
        used = sorted({value.run for cell in cells for value in cell.values})
        filled = Filled(self.table, self.plan.grid, cells, self.plan.scale)
        return draw(filled, self.plan.folder / "figures", used, anew=anew) if used else []
