"""Error against what a run has spent, logarithmic: one curve a sampler, one panel a problem."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpbench.tables.judging.cells import Cell, by_place
from jumpbench.tables.language.scale import Heads
from jumpbench.tables.language.types import Table
from jumpbench.tables.views.figures import entries
from jumpbench.tables.views.filled import Filled
from jumpbench.tables.views.floors import DOTTED, ends
from jumpbench.tables.views.wording import title

TARGET = f"{__name__}.races"
"""How a table file calls the figure."""
FLOOR = "exact draws"
_ACROSS = 3
_CROWDED = 5e3
"""An axis whose ends are this many times apart has marks at powers of ten alone."""


@dataclass(frozen=True)
class Point:
    """A cell: what was spent, the error, its standard deviation over seeds (0 of one seed)."""

    spent: float
    error: float
    spread: float
    column: str


@dataclass(frozen=True)
class Race:
    """One problem: curves by row, and what exact draws score, the most and the fewest that some
    sampler is judged by; once where these are equally many."""

    problem: str
    curves: Mapping[str, Sequence[Point]]
    floors: Sequence[float]


def problems(table: Table) -> dict[str, list[str]]:
    """Columns by their variable ``problem``; where no column has one, each is its own."""
    found: dict[str, list[str]] = {}
    named = any("problem" in column.vars for column in table.columns)
    for column in table.columns:
        problem = column.vars.get("problem") if named else column.name
        if problem is not None:
            found.setdefault(str(problem), []).append(column.name)
    return found


def raced(table: Table, cells: Sequence[Cell], metric: str, spent: str) -> list[Race]:
    """The problems of which a cell has both numbers, above zero; points in order of what they
    spent."""
    places, result = by_place(list(cells)), []
    for problem, columns in problems(table).items():
        curves = {}
        for row in table.rows:
            points = _points(places, row.name, columns, metric, spent)
            if ordered := sorted(points, key=lambda point: point.spent):
                curves[row.name] = ordered
        if curves:
            judged = [c for c in cells if c.column in columns and c.metric == metric]
            result.append(Race(problem, curves, ends(judged)))
    return result


def _points(
    places: Mapping[tuple[str, str, str], Cell], row: str, columns: Sequence[str], *metrics: str
) -> Iterator[Point]:
    for column in columns:
        error, spent = (places.get((row, column, metric)) for metric in metrics)
        if error and spent and error.measured and spent.measured and spent.measured > 0:
            spread = (error.std or 0.0) if error.n_seeds > 1 else 0.0
            yield Point(spent.measured, error.measured, spread, column)


def races(filled: Filled, metric: str, spent: str) -> Any:
    """Curves of one metric over another, with the standard deviation over seeds; dotted lines
    are what exact draws score. Learned samplers, which have a break-even, are drawn solid."""
    import matplotlib.pyplot as plt
    from matplotlib import colormaps
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    table = filled.table
    if not (found := raced(table, filled.cells, metric, spent)):
        return None
    across = min(_ACROSS, len(found))
    high = math.ceil(len(found) / across)
    figure, axes = plt.subplots(
        high, across, figsize=(3.9 * across + 2.2, 3.2 * high), squeeze=False, layout="constrained"
    )
    names = [row.name for row in table.rows if any(row.name in race.curves for race in found)]
    shades: Any = colormaps["tab20" if len(names) > 10 else "tab10"]
    colours = {row: shades.colors[i % len(shades.colors)] for i, row in enumerate(names)}
    learned = learners(table)
    for axis, race in zip(axes.flat, found, strict=False):
        for row, points in race.curves.items():
            xs, ys = [p.spent for p in points], [p.error for p in points]
            above = [p.spread or math.nan for p in points]  # one seed has no bar
            below = [min(bar, 0.9 * p.error) for bar, p in zip(above, points, strict=True)]
            axis.errorbar(
                xs, ys, [below, above], marker="o" if row in learned else "^",
                ms=3.5, lw=1.1, capsize=1.5, elinewidth=0.7, color=colours[row],
                ls="-" if row in learned else "--", label=filled.row_head(row),
            )  # fmt: skip
        for floor in race.floors:
            axis.axhline(floor, **DOTTED, label=FLOOR)
        axis.set(xscale="log", yscale="log", title=race.problem)
        axis.title.set_fontsize(9)
        axis.tick_params(labelsize=7)
        for scale in (axis.xaxis, axis.yaxis):
            low, end = scale.get_view_interval()
            between = (1, 2, 5) if end < _CROWDED * low else (1,)
            scale.set_major_locator(LogLocator(subs=between, numticks=12))
            scale.set_major_formatter(FormatStrFormatter("%g"))
            scale.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    figure.supxlabel(title(table.metrics[spent]), fontsize=9)
    figure.supylabel(title(table.metrics[metric]), fontsize=9)
    handles: dict[str, Any] = {}
    for axis in axes.flat:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    heads = [head for head in [*map(filled.row_head, names), FLOOR] if head in handles]
    figure.legend(
        handles=[handles[h] for h in heads], labels=heads, loc="outside right upper",
        fontsize=7, frameon=False,
    )  # fmt: skip
    return figure


def learners(table: Table) -> set[str]:
    """Rows that have a break-even."""
    derived = {metric.name for metric in table.metrics.values() if metric.break_even}
    return {row.name for row in table.rows if derived & set(row.metrics or table.metrics)}


def race_names(table: Table) -> list[str]:
    return [entry.get("name", "figure") for entry in race_entries(table)]


def race_entries(table: Table) -> list[dict[str, Any]]:
    """Those whose metrics the table has; the others are told where they are drawn."""
    return [
        entry for entry in entries(table)
        if entry.get("_target_") == TARGET
        and all(entry.get(key) in table.metrics for key in ("metric", "spent"))
    ]  # fmt: skip


def for_the_page(table: Table, cells: Sequence[Cell], heads: Heads) -> list[dict[str, Any]]:
    """What the page draws for these figures: a chart a problem, in four digits."""

    def short(value: float) -> float:
        return float(f"{value:.4g}")

    charts = []
    for entry in race_entries(table):
        metric, spent = entry["metric"], entry["spent"]
        for race in raced(table, cells, metric, spent):
            lines = [
                {"row": heads.row(row), "points": [
                    [short(p.spent), short(p.error), heads.column(p.column), None, short(p.spread)]
                    for p in points]}
                for row, points in race.curves.items()
            ]  # fmt: skip
            charts.append({
                "name": f"{race.problem}: {title(table.metrics[metric])}", "lines": lines,
                "x": title(table.metrics[spent]), "floors": list(map(short, race.floors)),
            })  # fmt: skip
    return charts
