"""The grid of a table at one scale: which runs fill which cell."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jumpbench.errors import UserError
from jumpbench.names import select
from jumpbench.tables.language.types import SCALES, Column, Metric, Row, Scale, Table
from jumpbench.tables.planning.fast.planned_runs import (
    PlannedRuns,
    planned_runs,
    replaced_files,
)
from jumpbench.tables.planning.identity import is_anonymous
from jumpbench.tables.planning.run import Run
from jumpbench.tables.planning.scalefiles import expanded


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


@dataclass(frozen=True)
class Selection:
    """What the command line chose: the part to make and print, and overrides of every run."""

    scale: str = "small"
    seeds: str | None = None
    rows: str | None = None
    columns: str | None = None
    overrides: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """What a command line says to select this."""
        parts = {"seeds": self.seeds, "rows": self.rows, "columns": self.columns}
        said = [f"{key}={value}" for key, value in parts.items() if value is not None]
        return [f"scale={self.scale}", *said, *self.overrides]

    @property
    def changes(self) -> tuple[str, ...]:
        """What can change a number: overrides (not of device, loggers or workers), and files of
        one's own in the place of the suite's."""
        return (
            *(o for o in self.overrides if not is_anonymous(o)),
            *(f"{file} in the place of the suite's" for file in replaced_files()),
        )

    @property
    def is_part(self) -> bool:
        return bool(self.seeds or self.rows or self.columns)

    def label(self, table: Table) -> str:
        """Name of the table's folder: the scale, and a hash of what is not as published in it."""
        if not self.changes and not table.foreign:
            return self.scale
        text = "\n".join(sorted(self.changes))
        text += "".join(file.read_text(encoding="utf-8") for file in replaced_files())
        if table.foreign:
            text += Path(table.file).read_text(encoding="utf-8")
        return f"{self.scale}+{hashlib.sha256(text.encode()).hexdigest()[:8]}"


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


def scale_of(table: Table, name: str) -> Scale:
    """The scale of that name.

    Raises:
        UserError: there is none.
    """
    if name not in SCALES:
        raise UserError(f"no scale '{name}'; there are: {', '.join(SCALES)}")
    if name not in table.scales:
        raise UserError(f"{table.id} has no {name} scale; it has: {', '.join(table.scales)}")
    return table.scales[name]


def chosen(table: Table, selection: Selection) -> tuple[list[str], list[str]]:
    """Names of the selected rows and columns.

    Raises:
        UserError: one that does not exist.
    """
    rows = [row.name for row in table.rows]
    columns = [column.name for column in table.columns]
    return (
        select("row", selection.rows, rows) if selection.rows else rows,
        select("column", selection.columns, columns) if selection.columns else columns,
    )


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


def seeds(text: str | None, default: int) -> Sequence[int]:
    """``seeds=3``: the seeds 0, 1, 2; ``seeds=4,7`` or ``seeds=[4]``: those seeds.

    Raises:
        UserError: anything else.
    """
    if text is None:
        return range(default)
    parts = [part.strip() for part in text.strip().strip("[]").split(",") if part.strip()]
    plain = all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)
    if not parts or not plain or parts == ["0"] == [text.strip()]:
        raise UserError(f"seeds={text[:40]!r}: give a number of seeds (3), or seeds ([0,2])")
    if len(parts) == 1 and not text.strip().startswith("["):
        if int(parts[0]) > 1000:
            raise UserError(f"seeds={parts[0]}: more than 1000 seeds; give them as a list, [7]")
        return range(int(parts[0]))
    return [int(part) for part in dict.fromkeys(parts)]


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
