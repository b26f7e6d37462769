"""The grid of a table at one scale: which runs fill which cell."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from jumpbench.errors import UserError
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.scale import Scale
from jumpbench.tables.language.types import Column, Row, Table
from jumpbench.tables.planning.fast.planned_runs import PlannedRuns, planned_runs
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.selection import Selection, chosen, scale_of, seeds


@dataclass(frozen=True)
class GridCell:
    """A cell and its runs, one per seed; none if the row is cited or the scale leaves it out.

    ``expected`` is the number of seeds that the scale asks for.
    """

    row: Row
    column: Column
    metric: Metric
    runs: tuple[Run, ...] = ()
    asked: bool = False
    missing_because: str | None = None
    expected: int = 0


def references_last(grid: Iterable[GridCell]) -> list[GridCell]:
    """The cells in the order in which they name a run that several fill: the exact values of a
    reference row may come out of the runs of another row, which is what these runs are."""
    return sorted(grid, key=lambda cell: cell.row.reference)


def build(table: Table, selection: Selection) -> list[GridCell]:
    """Compose every run of the selected cells, at the selected seeds.

    Raises:
        UserError: unknown scale, row or column, bad seeds, an override that does not fit a run, or
            that no run reads.
    """
    scale = scale_of(table, selection.scale)
    rows, columns = chosen(table, selection)
    grid: list[GridCell] = []
    with planned_runs(table, scale, selection.overrides) as kept:
        cells = _Cells(table, scale, selection.overrides, kept)
        for row, column, metric in table.cells():
            if row.name in rows and column.name in columns:
                default = row.seeds or scale.seeds
                grid.append(cells.cell(row, column, metric, seeds(selection.seeds, default)))
    if selection.overrides:
        from jumpbench.tables.planning.unread import refuse_unread

        places = {(cell.row.name, cell.column.name): cell for cell in grid if cell.runs}
        calls = [partial(_call, table, scale, cell.row, cell.column) for cell in places.values()]
        refuse_unread(selection.overrides, calls)
    return grid


def whole(table: Table, selection: Selection, further_seeds: Iterable[int] = ()) -> list[GridCell]:
    """Every cell of the table at this scale, whatever part of it is selected.

    Runs are those of the scale's own seeds, of the selected ones and of ``further_seeds`` (asked
    for in earlier calls). Rows to which an override does not fit have no runs.

    Raises:
        UserError: as :func:`build`.
    """
    scale = scale_of(table, selection.scale)
    grid: list[GridCell] = []
    with planned_runs(table, scale, selection.overrides) as kept:
        cells = _Cells(table, scale, selection.overrides, kept)
        for row, column, metric in table.cells():
            default = row.seeds or scale.seeds
            wanted = {*range(default), *seeds(selection.seeds, default), *further_seeds}
            try:
                cell = cells.cell(row, column, metric, sorted(wanted))
            except UserError:
                if not selection.overrides:
                    raise
                why = "the overrides do not fit this row"
                cell = GridCell(row, column, metric, missing_because=why)
            grid.append(cell)
    return grid


def plan_run(experiment: str, overrides: Sequence[str], seed: int) -> Run:
    """:func:`jumpbench.tables.planning.plan.plan_run`; Hydra is imported by the first run that was
    not kept."""
    from jumpbench.tables.planning import plan

    return plan.plan_run(experiment, overrides, seed)


def _fitting(
    experiment: str, stated: Sequence[str], typed: Sequence[str]
) -> tuple[list[str], list[str]]:
    from jumpbench.tables.planning.composition import fitting

    return fitting(experiment, stated, typed)


class _Cells:
    """Cells of one table at one scale, with the runs that were kept of them."""

    def __init__(self, table: Table, scale: Scale, typed: Sequence[str], kept: PlannedRuns) -> None:
        self._table, self._scale, self._typed, self._kept = table, scale, typed, kept
        self._made: dict[tuple[str, str], tuple[Run, ...]] = {}

    def cell(self, row: Row, column: Column, metric: Metric, seeds: Sequence[int]) -> GridCell:
        """A cell with the runs of these seeds."""
        scale = self._scale
        if row.cited:
            return GridCell(row, column, metric)
        only = (row, scale.only_rows), (column, scale.only_columns), (metric, scale.only_metrics)
        if any(_left_out(one.name, names) for one, names in only):
            why = f"not part of the {scale.name} scale"
            return GridCell(row, column, metric, missing_because=why)
        place = row.name, column.name  # whose metrics are all of the same runs
        if place not in self._made:
            self._made[place] = self._runs(row, column, seeds)
        expected = row.seeds or scale.seeds
        return GridCell(row, column, metric, self._made[place], True, expected=expected)

    def _runs(self, row: Row, column: Column, seeds: Sequence[int]) -> tuple[Run, ...]:
        kept = [self._kept.run(row.name, column.name, seed) for seed in seeds]
        runs = tuple(run for run in kept if run is not None)
        if len(runs) == len(kept):
            return runs
        try:
            call = _call(self._table, self._scale, row, column, self._typed)
            runs = tuple(plan_run(*call, seed) for seed in seeds)
        except UserError as error:
            raise UserError(f"row '{row.name}', column '{column.name}': {error}") from None
        for seed, run in zip(seeds, runs, strict=True):
            self._kept.keep(row.name, column.name, seed, run)
        return runs


def unique_runs(grid: Iterable[GridCell]) -> list[Run]:
    """Every run once, each behind the runs that it needs."""
    ordered: dict[str, Run] = {}
    for cell in grid:
        for run in cell.runs:
            for step in run.with_needs():
                ordered.setdefault(step.hash, step)
    return list(ordered.values())


def _left_out(name: str, only: tuple[str, ...] | None) -> bool:
    return only is not None and name not in only


def _call(
    table: Table, scale: Scale, row: Row, column: Column, typed: Sequence[str]
) -> tuple[str, list[str]]:
    """Experiment and overrides of the runs of a row and column."""
    experiment = row.experiment or table.experiment
    assert experiment is not None  # checked when the file was read
    return experiment, _fitting(experiment, _stated(table, scale, row, column), expanded(typed))[0]


def stated(
    table: Table, scale: Scale, row: Row, column: Column
) -> list[tuple[tuple[str | int, ...], str]]:
    """What the file says of the runs of a row and column, in the order in which it applies: keys
    and list positions of each override, and the override."""
    # By name: a scale may have changed the rest of them.
    r = [each.name for each in table.rows].index(row.name)
    c = [each.name for each in table.columns].index(column.name)
    parts: list[tuple[tuple[str | int, ...], Sequence[str]]] = [
        (("overrides",), table.overrides),
        (("rows", r, "overrides"), row.overrides),
        (("columns", c, "overrides"), column.overrides),
        (("rows", r, "columns", column.name), row.columns.get(column.name, ())),
        (("scales", scale.name, "overrides"), scale.overrides),
        (("scales", scale.name, "rows", row.name), scale.rows.get(row.name, ())),
        (("scales", scale.name, "columns", column.name), scale.columns.get(column.name, ())),
    ]
    return [((*place, i), text) for place, texts in parts for i, text in enumerate(texts)]


def _stated(table: Table, scale: Scale, row: Row, column: Column) -> list[str]:
    return expanded(text for _, text in stated(table, scale, row, column))


def not_applied(grid: Iterable[GridCell], table: Table, selection: Selection) -> list[str]:
    """What the table states and a class of one's own does not take, each once."""
    notes: dict[str, None] = {}
    scale, typed = scale_of(table, selection.scale), expanded(selection.overrides)
    for cell in grid:
        experiment = cell.row.experiment or table.experiment
        if cell.runs and experiment:
            stated = _stated(table, scale, cell.row, cell.column)
            notes |= dict.fromkeys(_fitting(experiment, stated, typed)[1])
    return list(notes)
