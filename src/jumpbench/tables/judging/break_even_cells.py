"""Cells of break-even metrics, filled from those of errors, setup and rate.

Chains are the rows that have all of these metrics and not the break-even. Where one of them was not
run, failed or lacks a seed, the cell is partial.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean, stdev

from jumpbench.tables.judging.break_even import NEVER, Budget, Limit, break_even
from jumpbench.tables.judging.cells import Cell, Value, by_place, uncertainty
from jumpbench.tables.language.metric import BreakEven, Metric
from jumpbench.tables.language.types import Column, Table

Places = Mapping[tuple[str, str, str], Cell]


def with_break_even(table: Table, cells: Sequence[Cell]) -> list[Cell]:
    """The cells, those of break-even metrics filled from the others."""
    derived = [m for m in table.metrics.values() if m.break_even is not None]
    if not derived:
        return list(cells)
    places = by_place(list(cells))
    columns = {column.name: column for column in table.columns}
    filled = []
    for cell in cells:
        metric = next((m for m in derived if m.name == cell.metric), None)
        if metric is not None and cell.values:
            cell = _filled(table, metric, cell, columns, places)
        filled.append(cell)
    return filled


def _filled(
    table: Table, metric: Metric, cell: Cell, columns: Mapping[str, Column], places: Places
) -> Cell:
    """A cell that was read from its ``source`` with the break-even of each seed instead."""
    here, of = columns[cell.column], metric.break_even
    assert of is not None
    upto = _budgets_up_to(table, here)
    chains = _chains_of(table, metric)
    at = [(r, c) for r in chains for c in upto]
    spreads = of.spreads_of(here.vars.get("problem"))
    limits = [
        _limit(places, cell, error, spread, at)
        for error, spread in zip(of.errors, spreads, strict=True)
    ]
    values = []
    for value in cell.values:
        own = [b for c in upto if (b := _budget(places, of, cell.row, c, value.seed))]
        theirs = [b for row in chains for b in _chain(places, of, row, upto, value.seed)]
        if own and theirs:
            n = break_even(own, theirs, limits)
            power = min(max(math.log10(max(n, 1.0)), 0.0), NEVER)
            values.append(Value(value.seed, power, value.run))
    if not values:
        why = "no chain has a number to compare it with"
        return replace(cell, values=[], measured=None, std=None, status="missing", note=why)
    gap = _gap(places, at, of.names)
    powers = [value.value for value in values]
    _, standard_error, df = uncertainty(metric, powers, cell.n_samples, None)
    return replace(
        cell, values=values, measured=fmean(powers), n_seeds=len(values),
        std=stdev(powers) if len(powers) > 1 else None, uncertainty=standard_error, df=df,
        status=cell.status if len(values) == len(cell.values) and not gap else "partial",
        note=gap or cell.note,
    )  # fmt: skip


def _budgets_up_to(table: Table, here: Column) -> list[str]:
    """The columns of the same problem with at most the seconds of this one."""
    most = float(here.vars.get("seconds", 0.0))
    return [
        column.name for column in table.columns
        if column.vars.get("problem") == here.vars.get("problem")
        and float(column.vars.get("seconds", math.inf)) <= most
    ]  # fmt: skip


def _chains_of(table: Table, metric: Metric) -> list[str]:
    """Rows with all metrics that a break-even is made of, and not the break-even itself."""
    assert metric.break_even is not None
    has = {
        row.name: {*(table.metrics if row.metrics is None else row.metrics)} for row in table.rows
    }
    needed = {*metric.break_even.names}
    return [row for row, names in has.items() if needed <= names and metric.name not in names]


def _gap(places: Places, chains: Iterable[tuple[str, str]], names: Iterable[str]) -> str:
    """Which chain lacks a number or seeds, since it failed or was not run; empty if none. Without
    it a trained sampler would seem to pay the earlier."""
    for (row, column), name in product(chains, names):
        cell = places.get((row, column, name))
        if cell is not None and cell.asked and cell.status != "measured":
            return f"{row} ({column}), which it is compared with, is {cell.status}"
    return ""


def _limit(
    places: Places, cell: Cell, error: str, spread: float, chains: Iterable[tuple[str, str]]
) -> Limit:
    """``spread``: of exact draws, over the floor. ``chains``: their rows and columns."""
    own = places.get((cell.row, cell.column, error))
    floor = (own.perfect if own else None) or 0.0
    theirs = [c for at in chains if (c := places.get((*at, error))) and c.values]
    best = min(theirs, key=lambda c: fmean(v.value for v in c.values), default=None)
    between = stdev(v.value for v in best.values) if best and len(best.values) > 1 else 0.0
    return Limit(floor, 2 * max(between, spread * floor))


def _chain(
    places: Places, of: BreakEven, row: str, columns: Iterable[str], seed: int
) -> list[Budget]:
    """Its budgets, each with the largest rate of them."""
    found = [b for column in columns if (b := _budget(places, of, row, column, seed))]
    rate = max((b.rate for b in found), default=0.0)
    return [replace(b, rate=rate) for b in found]


def _budget(places: Places, of: BreakEven, row: str, column: str, seed: int) -> Budget | None:
    """One run's numbers; None where one is missing, or no sample counts."""
    numbers = []
    for metric in (*of.errors, of.setup, of.rate):
        cell = places.get((row, column, metric))
        numbers += [v.value for v in cell.values if v.seed == seed][:1] if cell else []
    if len(numbers) < len(of.errors) + 2 or numbers[-1] <= 0:
        return None
    return Budget(tuple(numbers[:-2]), numbers[-2], numbers[-1])
