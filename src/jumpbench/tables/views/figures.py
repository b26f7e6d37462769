"""Figures of a table: functions ``f(table, **kwargs) -> matplotlib Figure`` named in its file."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.gate import permitted
from jumpbench.tables.views.filled import Filled
from jumpbench.tables.views.floors import DOTTED, PERFECT, ends

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

    names = rows or filled.rows
    crowded = len(names) > 5  # a legend inside would hide curves
    size = 4.6 * len(metrics) + (1.2 if crowded else 0.0), 3.4
    figure, axes = plt.subplots(1, len(metrics), figsize=size, squeeze=False, layout="constrained")
    drawn = False
    for axis, metric in zip(axes[0], metrics, strict=True):
        for row, colour in zip(names, _colours(len(names)), strict=True):
            drawn |= _row(axis, filled, row, metric, x, colour)
        _perfect(axis, filled, names, metric, x)
        axis.set(xlabel=xlabel or x, ylabel=filled.table.metrics[metric].label or metric)
        if log_y:
            axis.set_yscale("log")
        axis.grid(alpha=0.3)
    if not drawn:
        plt.close(figure)
        return None
    _legend(figure, axes[0], [*map(filled.row_head, names), PERFECT], crowded)
    return figure


def _colours(n: int) -> list[Any]:
    """Ten colours would come twice among more than ten rows."""
    from matplotlib import colormaps

    shades: Any = colormaps["tab20"]
    return [shades.colors[i % 20] if n > 10 else f"C{i}" for i in range(n)]


def _row(axis: Any, filled: Filled, row: str, metric: str, x: str, colour: Any) -> bool:
    """The line of a row, and that of its published numbers; False if it has no number."""
    cells = [filled.cell(row, column, metric) for column in filled.columns]
    points = [
        (filled.variables[c.column][x], c.measured, c.std or math.nan, c.paper)
        for c in cells
        if c is not None and c.measured is not None and x in filled.variables[c.column]
    ]
    if not points:
        return False
    xs, ys, errors, paper = zip(*points, strict=True)
    style = {"marker": "o", "ms": 3, "capsize": 2, "color": colour}
    axis.errorbar(xs, ys, errors, label=filled.row_head(row), **style)
    numbers = zip(xs, paper, strict=True) if filled.beside else ()
    printed = [(at, value) for at, value in numbers if isinstance(value, int | float)]
    if printed:
        axis.plot(*zip(*printed, strict=True), "--", lw=1, color=colour)
    return True


def _perfect(axis: Any, filled: Filled, rows: Sequence[str], metric: str, x: str) -> None:
    """What a perfect method would score with the fewest and with the most samples of the rows."""
    by_x = {}
    for column in (column for column in filled.columns if x in filled.variables[column]):
        cells = (filled.cell(row, column, metric) for row in rows)
        if found := ends([cell for cell in cells if cell is not None]):
            by_x[filled.variables[column][x]] = found
    for end in (0, -1) if by_x else ():
        axis.plot([*by_x], [found[end] for found in by_x.values()], label=PERFECT, **DOTTED)


def _legend(figure: Any, axes: Sequence[Any], heads: Sequence[str], outside: bool) -> None:
    """Every line of any panel once, in the order of ``heads``; in the first panel that has one."""
    labelled = [axis.get_legend_handles_labels() for axis in axes]
    shown = {name: handle for pair in labelled for handle, name in zip(*pair, strict=True)}
    named = [head for head in heads if head in shown]
    place = {"handles": [shown[head] for head in named], "labels": named, "frameon": False}
    if outside:
        figure.legend(**place, loc="outside right upper", fontsize=7)
    else:
        first = next(axis for axis, (_, names) in zip(axes, labelled, strict=True) if names)
        first.legend(**place, fontsize=8)
