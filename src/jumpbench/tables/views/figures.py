"""Figures of a table: functions ``f(table, **kwargs) -> matplotlib Figure`` named in its file."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.scale import Heads
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.gate import permitted
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import METRICS, SAMPLES
from jumpbench.tables.views.floors import DOTTED, PERFECT, ends


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


BARS = {"name": "results", "_target_": "jumpbench.tables.views.barcharts.bars"}
"""The figure of a table whose file names none."""


def entries(table: Table) -> list[dict[str, Any]]:
    """What is drawn of a table, without the captions."""
    if table.figures is None:
        return [dict(BARS)]
    return [{k: v for k, v in entry.items() if k != "caption"} for entry in table.figures]


def functions(table: Table) -> list[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """(name, function, arguments) of every figure of a table.

    Raises:
        UserError: a figure names a function that does not exist, or that no table may call.
    """
    listed = []
    for arguments in entries(table):
        name, target = str(arguments.pop("name", "figure")), arguments.pop("_target_", None)
        place = f"{table.id}: figure '{name}'"
        if not isinstance(target, str):
            raise UserError(f"{place} names no function: {target}")
        function = permitted(target, place)
        if inspect.isclass(function) or not callable(function):
            raise UserError(f"{place}: {target} is no function")
        listed.append((name, function, arguments))
    return listed


def curves(
    filled: Filled,
    metrics: Sequence[str],
    x: str,
    xlabel: str = "",
    rows: Sequence[str] | None = None,
    log_y: bool = False,
) -> Any:
    """One panel per metric, one line per row, the column variable ``x`` along the axis.

    Error bars are the standard deviation over seeds, of one seed over samples; dashed lines are
    published numbers, dotted ones what a perfect method would score.
    """
    import matplotlib.pyplot as plt
    from matplotlib import colormaps

    drawn, names = False, rows or filled.rows
    crowded = len(names) > 5  # a legend inside would hide curves
    many = len(names) > 10  # ten colours would come twice
    size = 4.6 * len(metrics) + (1.2 if crowded else 0.0), 3.4
    figure, axes = plt.subplots(1, len(metrics), figsize=size, squeeze=False, layout="constrained")
    shades: Any = colormaps["tab20"]
    for axis, metric in zip(axes[0], metrics, strict=True):
        for number, row in enumerate(names):
            colour = shades.colors[number % 20] if many else f"C{number}"
            cells = [filled.cell(row, column, metric) for column in filled.columns]
            points = [
                (filled.variables[c.column][x], c.measured, c.std or math.nan, c.paper)
                for c in cells
                if c is not None and c.measured is not None and x in filled.variables[c.column]
            ]
            if not points:
                continue
            drawn = True
            xs, ys, errors, paper = zip(*points, strict=True)
            axis.errorbar(
                xs,
                ys,
                errors,
                marker="o",
                ms=3,
                capsize=2,
                label=filled.row_head(row),
                color=colour,
            )
            printed = [
                (a, b)
                for a, b in zip(xs, paper, strict=True)
                if filled.beside and isinstance(b, int | float)
            ]
            if printed:
                axis.plot(*zip(*printed, strict=True), "--", lw=1, color=colour)
        by_x = {}
        for column in (column for column in filled.columns if x in filled.variables[column]):
            of_column = (filled.cell(row, column, metric) for row in names)
            if found := ends([cell for cell in of_column if cell is not None]):
                by_x[filled.variables[column][x]] = found
        for end in (0, -1) if by_x else ():  # the fewest and the most samples that rows have
            axis.plot([*by_x], [found[end] for found in by_x.values()], label=PERFECT, **DOTTED)
        label = filled.table.metrics[metric].label or metric
        axis.set(xlabel=xlabel or x, ylabel=label)
        if log_y:
            axis.set_yscale("log")
        axis.grid(alpha=0.3)
    if not drawn:
        plt.close(figure)
        return None
    labelled = [axis.get_legend_handles_labels() for axis in axes[0]]
    shown = {name: handle for pair in labelled for handle, name in zip(*pair, strict=True)}
    heads = [head for head in (*map(filled.row_head, names), PERFECT) if head in shown]
    place = {"handles": [shown[h] for h in heads], "labels": heads, "frameon": False}
    if crowded:
        figure.legend(**place, loc="outside right upper", fontsize=7)
    else:
        next(a for a, (_, names) in zip(axes[0], labelled, strict=True) if names).legend(
            **place, fontsize=8
        )
    return figure
