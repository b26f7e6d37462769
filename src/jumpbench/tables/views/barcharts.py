"""The figures that every table can have: bars beside the paper's numbers, and heat maps."""

import math
from collections.abc import Sequence
from typing import Any, cast

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.views.filled import Filled
from jumpbench.tables.views.floors import DOTTED, PERFECT, ends, floor
from jumpbench.tables.views.wording import title

PANELS = 6


def bars(
    filled: Filled, metrics: Sequence[str] | None = None, rows: Sequence[str] | None = None
) -> Any:
    """One panel per metric: groups are columns, bars are rows, black lines published numbers,
    dotted ones what a perfect method would score.

    Error bars are the standard deviation over seeds, or the standard error where one seed has
    one. Without ``metrics`` those with a better direction are drawn, else all; at most six.
    """
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    panels, names = chosen_panels(filled, metrics, rows)
    if not panels:
        return None
    most = max(sum(map(len, by_row.values())) for _, by_row in panels)
    width = min(14.0, max(5.0, 1.6 + 0.14 * most))
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(width + 2.6, 2.5 * len(panels)),
        squeeze=False,
        layout="constrained",
    )
    for axis, (metric, by_row) in zip(axes[:, 0], panels, strict=True):
        _panel(axis, filled, metric, by_row, names)
    handles: list[Any] = [Patch(color=colour) for colour in _colours(names)]
    labels = [filled.row_head(row) for row in names]
    if any(ends([*cells.values()]) for _, by_row in panels for cells in by_row.values()):
        handles.append(Line2D([], [], **DOTTED))
        labels.append(PERFECT)
    figure.legend(handles, labels, loc="outside right upper", fontsize=7, frameon=False)
    return figure


def chosen_panels(
    filled: Filled, metrics: Sequence[str] | None = None, rows: Sequence[str] | None = None
) -> tuple[list[tuple[str, dict[str, dict[str, Cell]]]], list[str]]:
    """The panels as (metric, {row: {column: cell}}), and the rows that are in any."""
    directed = [m.name for m in filled.table.metrics.values() if m.better != "none"]
    wanted = [*(metrics or directed or filled.table.metrics)]
    panels = [(metric, by_row) for metric in wanted if (by_row := _bars(filled, metric, rows))]
    panels = panels[:PANELS]
    return panels, [row for row in rows or filled.rows if any(row in b for _, b in panels)]


def is_logarithmic(numbers: Sequence[float]) -> bool:
    return min(numbers) > 0 and max(numbers) > 200 * min(numbers)


def _bars(filled: Filled, metric: str, rows: Sequence[str] | None) -> dict[str, dict[str, Cell]]:
    """{row: {column: cell}} of the cells with a number."""
    by_row: dict[str, dict[str, Cell]] = {}
    for row in rows or filled.rows:
        for column in filled.columns:
            cell = filled.cell(row, column, metric)
            if cell is not None and cell.measured is not None and math.isfinite(cell.measured):
                by_row.setdefault(row, {})[column] = cell
    return by_row


def _colours(names: Sequence[str]) -> list[Any]:
    """One for each row, the same in every panel."""
    from matplotlib import colormaps

    listed: Any = colormaps["tab20" if len(names) > 10 else "tab10"]
    return [listed.colors[i % len(listed.colors)] for i in range(len(names))]


def _panel(
    axis: Any, filled: Filled, metric: str, by_row: dict[str, dict[str, Cell]], names: Sequence[str]
) -> None:
    colours = _colours(names)
    columns = [c for c in filled.columns if any(c in cells for cells in by_row.values())]
    wide = 0.85 / len(names)
    numbers: list[float] = []
    for i, row in enumerate(names):
        cells = by_row.get(row, {})
        at = [columns.index(c) + (i - (len(names) - 1) / 2) * wide for c in cells]
        heights = [cast(float, cell.measured) for cell in cells.values()]
        errors = [cell.std or cell.uncertainty or math.nan for cell in cells.values()]
        axis.bar(
            at, heights, wide, yerr=errors, label=filled.row_head(row), color=colours[i],
            error_kw={"lw": 0.8, "capsize": 1.5, "ecolor": "0.35"},
        )  # fmt: skip
        numbers += heights
        for x, cell in zip(at, cells.values(), strict=True):
            if filled.beside and isinstance(cell.paper, int | float):
                axis.plot([x - wide / 2, x + wide / 2], [cell.paper] * 2, color="black", lw=1.6)
                numbers.append(cell.paper)
            if (best := floor(cell)) is not None:
                axis.plot([x - wide / 2, x + wide / 2], [best] * 2, **DOTTED)
                numbers.append(best)
    axis.set_xticks(range(len(columns)), [filled.column_head(c) for c in columns], fontsize=8)
    axis.set_ylabel(title(filled.table.metrics[metric]), fontsize=8)
    axis.tick_params(axis="y", labelsize=8)
    if is_logarithmic(numbers):
        axis.set_yscale("log")
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def heatmap(filled: Filled, metric: str) -> Any:
    """Rows by columns of one metric, each number in its square."""
    import matplotlib.pyplot as plt

    values = [
        [math.nan if (v := filled.value(r, c, metric)) is None else v for c in filled.columns]
        for r in filled.rows
    ]
    finite = [v for line in values for v in line if math.isfinite(v)]
    if not finite:
        return None
    size = (0.62 * len(filled.columns) + 2.2, 0.36 * len(filled.rows) + 1.2)
    figure, axis = plt.subplots(figsize=size, layout="constrained")
    shown = axis.imshow(values, aspect="auto", cmap="viridis")
    middle = (min(finite) + max(finite)) / 2
    digits = filled.table.metrics[metric].digits
    for i, line in enumerate(values):
        for j, value in enumerate(line):
            if math.isfinite(value):
                colour = "white" if value < middle else "black"
                axis.text(j, i, f"{value:.{min(digits, 3)}f}", ha="center", va="center", fontsize=7,
                          color=colour)  # fmt: skip
    columns, rows = map(filled.column_head, filled.columns), map(filled.row_head, filled.rows)
    axis.set_xticks(range(len(filled.columns)), [*columns], fontsize=8, rotation=45, ha="right")
    axis.set_yticks(range(len(filled.rows)), [*rows], fontsize=8)
    figure.colorbar(shown, label=title(filled.table.metrics[metric]))
    return figure
