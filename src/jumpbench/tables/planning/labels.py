"""What progress bars and experiment loggers call the runs of a table."""

from collections.abc import Iterable
from typing import Any

from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.grid import GridCell, references_last


class Labels:
    """Names of runs by hash; the first cell that a run fills names it, as its scale calls it."""

    def __init__(self, table: Table, scale: str, part: Iterable[GridCell]) -> None:
        self._table, self._scale = table, scale
        self._cells: dict[str, GridCell] = {}
        for cell in references_last(part):
            for run in cell.runs:
                self._cells.setdefault(run.hash, cell)

    def names(self) -> dict[str, str]:
        """``row / column`` of every run."""
        return {run: " / ".join(self._heads(cell)) for run, cell in self._cells.items()}

    def of_loggers(self) -> dict[str, dict[str, Any]]:
        """Table, scale, row and column of every run, and what the paper prints there."""
        labels: dict[str, dict[str, Any]] = {}
        for run, cell in self._cells.items():
            row, column = self._heads(cell)
            place = {"table": self._table.id, "scale": self._scale, "row": row, "column": column}
            papers = {
                metric: number.value
                for metric, printed in self._table.published.items()
                if (number := printed.get(cell.row.name, {}).get(cell.column.name)) is not None
            }
            labels[run] = {**place, **({"paper": papers} if papers else {})}
        return labels

    def _heads(self, cell: GridCell) -> tuple[str, str]:
        heads, row, column = self._table.scales[self._scale].heads, cell.row.name, cell.column.name
        return heads.rows.get(row, row), heads.columns.get(column, column)
