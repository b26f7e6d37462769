"""From runs to cells: what every run measured, mean and spread over seeds, status, verdict."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from jumpbench.tables.judging.break_even_cells import with_break_even
from jumpbench.tables.judging.cells import Cell, spread_in_print, uncertainty, verdict
from jumpbench.tables.judging.readings import Reading, Records, read
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.types import Table
from jumpbench.tables.planning.grid import GridCell


def collect(
    table: Table, grid: Sequence[GridCell], records: Records, scale: str, judge: bool = True
) -> list[Cell]:
    """All cells of the grid as they stand now; ``judge`` False leaves verdicts out."""
    compare = judge and table.scales[scale].compared
    return with_break_even(table, [_cell(table, entry, records, compare) for entry in grid])


def _cell(table: Table, entry: GridCell, records: Records, compare: bool) -> Cell:
    row, metric = entry.row, entry.metric
    paper, paper_std = table.paper(row.name, entry.column.name, metric.name)
    empty = Cell(
        row.name, entry.column.name, metric.name, paper=paper, paper_std=paper_std,
        asked=entry.asked, fact=metric.fact,
    )  # fmt: skip
    if row.cited:
        return replace(empty, status="cited", note=row.note)
    readings = [read(entry, run, records) for run in entry.runs]
    if any(reading.value for reading in readings):
        return _measured(table, entry, readings, empty, compare)
    first = next((reading for reading in readings if reading.why), None)
    return replace(
        empty,
        status=first.status if first else "missing",
        note=first.why if first else entry.missing_because,
        run_ids=[run.id for run in entry.runs],
    )


def _measured(
    table: Table, entry: GridCell, readings: Sequence[Reading], empty: Cell, compare: bool
) -> Cell:
    """The cell of an entry of which some runs have a value."""
    row, metric = entry.row, entry.metric
    good = [reading for reading in readings if reading.value is not None]
    values = [reading.value for reading in good if reading.value is not None]
    numbers = [value.value for value in values]
    samples = min((reading.samples for reading in good if reading.samples), default=None)
    errors = [reading.error for reading in good if reading.error is not None]
    run_error = math.sqrt(fmean(error**2 for error in errors)) if errors else 0.0
    published = table.published_number(row.name, entry.column.name, metric.name)
    spread, error, df = uncertainty(metric, numbers, samples, published, run_error, row.exact)
    remarks = _remarks(readings, entry.expected)
    whole = len(values) >= entry.expected and not any(reading.why for reading in readings)
    comparable = compare and whole and not (row.not_target or metric.fact)
    return replace(
        empty,
        status=("fact" if metric.fact else "measured") if whole else "partial",
        measured=fmean(numbers),
        std=_deviation(metric, good, numbers, run_error),
        n_seeds=len(values),
        n_samples=samples,
        verdict=verdict(
            table, metric, fmean(numbers), spread, df, len(values), published,
            spread_in_print(metric, numbers, samples),
        ) if comparable else None,
        perfect=_mean([reading.perfect for reading in good]),
        note=remarks[0] if remarks else None,
        run_ids=[value.run for value in values],
        values=values,
        uncertainty=error,
        df=df,
        run_error=run_error or None,
    )  # fmt: skip


def _deviation(
    metric: Metric, good: Sequence[Reading], numbers: Sequence[float], run_error: float
) -> float | None:
    """What stands after ±: between samples where the metric says so, else between seeds, else the
    error that the single run measured of its own number."""
    if metric.sample_std:
        return _mean([reading.sample_std for reading in good])
    return stdev(numbers) if len(numbers) > 1 else run_error or None


def _mean(numbers: Sequence[float | None]) -> float | None:
    """Of those that are there."""
    there = [number for number in numbers if number is not None]
    return fmean(there) if there else None


def _remarks(readings: Sequence[Reading], expected: int) -> list[str]:
    """What is wrong with a cell, the worst first."""
    n = sum(reading.value is not None for reading in readings)
    return [
        *(reading.why for reading in readings if reading.why),
        *([f"{n} of {expected} seeds"] if n < expected else []),
        *(reading.remark for reading in readings if reading.remark),
    ]
