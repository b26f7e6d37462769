"""A table with its numbers, as figures read it."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.scale import Heads
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import METRICS, SAMPLES


class Filled:
    """A table with its measured cells, as figure functions see it."""

    def __init__(
        self, table: Table, grid: Sequence[GridCell], cells: Sequence[Cell], scale_name: str
    ) -> None:
        self.table, self.cells, self.scale_name = table, list(cells), scale_name
        scale = table.scales.get(scale_name)
        self.beside = scale is not None and scale.compared  # whether published numbers are drawn
        self._runs = {(g.row.name, g.column.name): g.runs for g in grid}
        self._cells = {(c.row, c.column, c.metric): c for c in cells}
        self._heads = scale.heads if scale is not None else Heads()
        self._used = {value.run for cell in cells for value in cell.values}
        self._lacks = False
        self.incomplete: set[str] = set()
        """Figures that asked for a run whose numbers are recorded and whose folder is elsewhere."""
        self.rows = list(dict.fromkeys(cell.row for cell in cells))
        self.columns = list(dict.fromkeys(cell.column for cell in cells))

    def cell(self, row: str, column: str, metric: str) -> Cell | None:
        return self._cells.get((row, column, metric))

    def row_head(self, row: str) -> str:
        """What a row is called at this scale."""
        return self._heads.rows.get(row, row)

    def column_head(self, column: str) -> str:
        return self._heads.columns.get(column, column)

    def value(self, row: str, column: str, metric: str) -> float | None:
        cell = self.cell(row, column, metric)
        return cell.measured if cell else None

    @functools.cached_property
    def variables(self) -> dict[str, Mapping[str, Any]]:
        """``vars`` of every column, by its name."""
        return {column.name: column.vars for column in self.table.columns}

    def artifact(self, row: str, column: str) -> dict[str, Any] | None:
        """``samples.pt`` of the first finished run of a cell, or None."""
        from jumpbench.artifacts import load_artifacts

        run = self._sampled(row, column)
        return None if run is None else load_artifacts(run.folder)

    def artifacts(self, row: str, column: str) -> dict[int, dict[str, Any]]:
        """``samples.pt`` of every finished run of a cell that is here, by its seed."""
        from jumpbench.artifacts import load_artifacts

        if self._sampled(row, column) is None:
            return {}
        here = (run for run in self._runs[row, column] if _is_sampled(run))
        return {run.seed: load_artifacts(run.folder) for run in here}

    def tested(self, row: str, column: str, size: int) -> Any:
        """What the samples of :meth:`artifact` were drawn for: the first ``size`` of its data's
        test items as one batch, or None."""
        from jumpbench.tables.planning.gate import construct

        if (run := self._sampled(row, column)) is None:
            return None
        data: Any = construct(run.placed()["data"] | {"batch_size": size}, "data")
        data.setup("test")
        return data.on_after_batch_transfer(next(iter(data.test_dataloader())), 0)

    def _sampled(self, row: str, column: str) -> Run | None:
        for run in self._runs.get((row, column), ()):
            if _is_sampled(run):
                return run
        self._miss(row, column)
        return None

    def metrics(self, row: str, column: str) -> list[dict[str, Any]]:
        """All metrics of every finished run of a cell (one per seed)."""
        from jumpbench.tables.runs.store import read_metrics

        self._miss(row, column)
        contents = (read_metrics(run.folder) for run in self._runs.get((row, column), ()))
        return [content["metrics"] for content in contents if content is not None]

    def _miss(self, row: str, column: str) -> None:
        runs = (run for run in self._runs.get((row, column), ()) if run.id in self._used)
        self._lacks |= any(not (run.folder / METRICS).is_file() for run in runs)

    def drawn(self, name: str, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """The figure that a function makes of this table; whether it is complete is noted."""
        self._lacks = False
        figure = function(self, **arguments)
        if self._lacks:
            self.incomplete.add(name)
        return figure


def _is_sampled(run: Run) -> bool:
    return (run.folder / SAMPLES).is_file() and (run.folder / METRICS).is_file()
