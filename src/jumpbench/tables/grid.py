"""The grid of a table at one scale: which runs fill which cell."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jumpbench.errors import UserError
from jumpbench.tables.names import select
from jumpbench.tables.plan import Run, plan_run
from jumpbench.tables.spec import SCALES, Column, Metric, Row, Table


@dataclass(frozen=True)
class GridCell:
    """A cell and its runs, one per seed; none if the row is cited or the scale leaves it out."""

    row: Row
    column: Column
    metric: Metric
    runs: tuple[Run, ...] = ()
    asked: bool = False
    missing_because: str | None = None


@dataclass(frozen=True)
class Selection:
    """A part of a table is a table: what the command line chose."""

    scale: str = "small"
    seeds: str | None = None
    rows: str | None = None
    columns: str | None = None
    overrides: tuple[str, ...] = ()


def build(table: Table, selection: Selection) -> list[GridCell]:
    """Compose every run of the selected cells.

    Raises:
        UserError: unknown scale, row or column, bad seeds, or an override that fits no run.
    """
    if selection.scale not in SCALES:
        raise UserError(f"no scale '{selection.scale}'; there are: {', '.join(SCALES)}")
    scale = table.scales[selection.scale]
    row_names = [row.name for row in table.rows]
    column_names = [column.name for column in table.columns]
    rows = select("row", selection.rows, row_names) if selection.rows else row_names
    columns = (
        select("column", selection.columns, column_names) if selection.columns else column_names
    )
    grid = []
    for row, column, metric in table.cells():
        if row.name not in rows or column.name not in columns:
            continue
        if row.cited:
            grid.append(GridCell(row, column, metric))
        elif _left_out(row.name, scale.only_rows) or _left_out(column.name, scale.only_columns):
            why = f"not part of the {scale.name} scale"
            grid.append(GridCell(row, column, metric, missing_because=why))
        else:
            wanted = seeds(selection.seeds, row.seeds or scale.seeds)
            runs = tuple(_run(table, row, column, selection, seed) for seed in wanted)
            grid.append(GridCell(row, column, metric, runs, asked=True))
    return grid


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


def _run(table: Table, row: Row, column: Column, selection: Selection, seed: int) -> Run:
    scale = table.scales[selection.scale]
    overrides = [
        *table.overrides, *row.overrides, *column.overrides, *row.columns.get(column.name, ()),
        *scale.overrides, *scale.rows.get(row.name, ()), *scale.columns.get(column.name, ()),
        *selection.overrides,
    ]  # fmt: skip
    experiment = row.experiment or table.experiment
    assert experiment is not None  # checked when the file was read
    try:
        return plan_run(experiment, [str(o) for o in overrides], seed)
    except UserError as error:
        raise UserError(f"row '{row.name}', column '{column.name}': {error}") from None
