"""The runs of a table at one scale: those that a call selects, and all that its files hold."""

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from jumpbench.paths import outputs_root
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning import grid as grids
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.selection import Selection


class TablePlan:
    """``part`` is what the selection names: what is made, printed and answered for. ``grid`` is the
    whole table with all its finished runs: what the files in ``folder`` hold, which is another one
    for every set of overrides and foreign file. ``further_seeds`` belong to the table too.

    Raises:
        UserError: as :func:`~jumpbench.tables.planning.grid.build`.
    """

    def __init__(
        self, table: Table, selection: Selection, further_seeds: Iterable[int] = ()
    ) -> None:
        self.table, self.selection, self.scale = table, selection, selection.scale
        self.folder = outputs_root() / "tables" / table.id / selection.label(table)
        self.part: list[GridCell] = grids.build(table, selection)
        self.runs: list[Run] = grids.unique_runs(self.part)
        selected = {run.seed for cell in self.part for run in cell.runs}
        self.seeds = sorted(_earlier_seeds(self.folder) | selected | {*further_seeds})
        self.grid: list[GridCell] = grids.whole(table, selection, self.seeds)

    def renew(self) -> None:
        """Take up the seeds that other calls have asked for meanwhile: what the files hold grows
        by them, and what this call makes stays as it is.

        Raises:
            UserError: as :func:`~jumpbench.tables.planning.grid.whole`.
        """
        if further := _earlier_seeds(self.folder) - set(self.seeds):
            self.seeds = sorted(further | set(self.seeds))
            self.grid = grids.whole(self.table, self.selection, self.seeds)


def _earlier_seeds(folder: Path) -> set[int]:
    """Seeds that earlier calls have asked for: their runs belong to the table too."""
    file = folder / "table.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        if file.is_file():
            seeds = json.loads(file.read_text(encoding="utf-8"))["seeds"]
            return {s for s in seeds if isinstance(s, int) and 0 <= s < 10**9}
    return set()
