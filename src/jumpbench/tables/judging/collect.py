"""From runs to cells: what every run measured, mean and spread over seeds, status, verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.break_even import with_break_even
from jumpbench.tables.judging.cells import Cell, Value, spread_in_print, uncertainty, verdict
from jumpbench.tables.judging.recorded_runs import RecordedRuns
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.types import Column, Row, Table
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import BY_SAMPLE, METRICS
from jumpbench.tables.runs.store import failure_status, read_failure, read_metrics


class Records:
    """Metrics of finished runs, each file read once; damaged ones are remembered by message.

    ``recorded`` runs count where there is no folder of theirs.
    """

    def __init__(self, recorded: RecordedRuns | None = None) -> None:
        self._recorded = recorded
        self._known: dict[str, dict[str, Any] | None] = {}
        self.damaged: dict[str, str] = {}

    def get(self, run: Run) -> dict[str, Any] | None:
        if self._known.get(run.hash) is None and run.hash not in self.damaged:
            try:
                self._known[run.hash] = read_metrics(run.folder)
            except UserError as error:
                self.damaged[run.hash] = str(error)
        return self._known.get(run.hash)

    def recorded(self, entry: GridCell, run: Run) -> "Reading | None":
        """What a record says of a run for a cell."""
        found = self._recorded.found(entry, run) if self._recorded else None
        if found is None:
            return None
        (cell, value), metric = found, entry.metric
        return Reading(
            value if metric.by_sample else replace(value, by_sample=None),
            samples=cell.n_samples, status="measured",
            perfect=cell.perfect if metric.perfect else None,
            sample_std=cell.std if metric.sample_std else None,
            error=cell.run_error if metric.error else None,
        )  # fmt: skip

    def recorded_failure(self, entry: GridCell, run: Run) -> str | None:
        """Why a record has no number of a run for a cell; None where it does not say."""
        return self._recorded.failure(entry, run) if self._recorded else None


@dataclass(frozen=True)
class Reading:
    """What one run says about one cell: a value, or a status and why there is none."""

    value: Value | None = None
    perfect: float | None = None
    samples: int | None = None
    sample_std: float | None = None
    error: float | None = None
    status: str = "missing"
    why: str | None = None
    remark: str | None = None  # something about it is wrong, the value is not


def collect(
    table: Table, grid: Sequence[GridCell], records: Records, scale: str, judge: bool = True
) -> list[Cell]:
    """All cells of the grid as they stand now; ``judge`` False leaves verdicts out."""
    compare = judge and table.scales[scale].compared
    return with_break_even(table, [_cell(table, entry, records, compare) for entry in grid])


def read(entry: GridCell, run: Run, records: Records) -> Reading:
    """The reading of one run for one cell."""
    content = records.get(run)
    if content is None:
        if why := records.damaged.get(run.hash):
            return Reading(status="failed", why=why)
        if recorded := records.recorded(entry, run):
            return recorded
        if why := read_failure(run.folder):
            return Reading(status=failure_status(run.folder), why=why)
        if why := records.recorded_failure(entry, run):
            return Reading(status="failed", why=why)
        return Reading()
    metrics, metric = content["metrics"], entry.metric
    source = source_name(metric, entry.row, entry.column)
    file = run.folder / METRICS
    if source not in metrics:
        return Reading(status="failed", why=f"{run.id} measured no '{source}'")
    number = _number(metrics[source])
    if number is None:
        return Reading(status="failed", why=f"{file}: '{source}' is not a number; {_REMEDY}")
    if not math.isfinite(number):
        return Reading(status="failed", why=f"'{source}' of {run.id} is {number}")
    samples = _number(metrics.get("n_samples", 0))
    if samples is None or not math.isfinite(samples) or samples < 0:
        return Reading(status="failed", why=f"{file}: 'n_samples' is no count; {_REMEDY}")
    beside: dict[str, Any] = {}
    remark = None
    for key in ("perfect", "sample_std", "error"):
        name = filled(getattr(metric, key) or "", entry.row, entry.column)
        if name in metrics:
            further = _number(metrics[name])
            if further is None or not math.isfinite(further):
                remark = f"{file}: '{name}' is not a finite number"
            else:
                beside[key] = further * metric.factor
    value = Value(run.seed, number * metric.factor, run.id, _by_sample(content, entry))
    whole = Reading(value, samples=int(samples) or None, status="measured", remark=remark)
    return replace(whole, **beside)


def _by_sample(content: Mapping[str, Any], entry: GridCell) -> list[float] | None:
    """The numbers of a run's samples for a cell; None unless each is there and finite."""
    metric = entry.metric
    name = filled(metric.by_sample or "", entry.row, entry.column)
    kept = content.get(BY_SAMPLE)
    values = kept.get(name) if isinstance(kept, dict) else None
    numbers = list(map(_number, values)) if isinstance(values, list) else []
    whole = [n * metric.factor for n in numbers if n is not None and math.isfinite(n)]
    return whole if whole and len(whole) == len(numbers) else None


_REMEDY = "delete it and call again"


def _number(value: Any) -> float | None:
    """A metric as a float (also nan and inf, which json holds as words); None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _cell(table: Table, entry: GridCell, records: Records, compare: bool) -> Cell:
    row, metric = entry.row, entry.metric
    published = table.published_number(row.name, entry.column.name, metric.name)
    paper, paper_std = table.paper(row.name, entry.column.name, metric.name)
    base: dict[str, Any] = {
        "row": row.name, "column": entry.column.name, "metric": metric.name,
        "paper": paper, "paper_std": paper_std, "asked": entry.asked, "fact": metric.fact,
    }  # fmt: skip
    if row.cited:
        return Cell(**base, status="cited", note=row.note)
    readings = [read(entry, run, records) for run in entry.runs]
    problems = [reading for reading in readings if reading.why]
    good = [reading for reading in readings if reading.value is not None]
    if not good:
        status = problems[0].status if problems else "missing"
        note = problems[0].why if problems else entry.missing_because
        return Cell(**base, status=status, note=note, run_ids=[run.id for run in entry.runs])
    values = [reading.value for reading in good if reading.value is not None]
    numbers = [value.value for value in values]
    samples = min((r.samples for r in good if r.samples), default=None)
    errors = [reading.error for reading in good if reading.error is not None]
    run_error = math.sqrt(fmean(error**2 for error in errors)) if errors else 0.0
    spread, error, df = uncertainty(metric, numbers, samples, published, run_error, row.exact)
    whole = len(values) >= entry.expected and not problems
    mean, comparable = fmean(numbers), compare and whole and not (row.not_target or metric.fact)
    std = stdev(numbers) if len(numbers) > 1 else run_error or None
    if metric.sample_std:
        over_samples = [r.sample_std for r in good if r.sample_std is not None]
        std = fmean(over_samples) if over_samples else None
    status = "fact" if metric.fact else "measured"
    perfect = [reading.perfect for reading in good if reading.perfect is not None]
    remarks = [
        *(reading.why for reading in problems),
        *([f"{len(values)} of {entry.expected} seeds"] if len(values) < entry.expected else []),
        *(reading.remark for reading in good if reading.remark),
    ]
    return Cell(
        **base, measured=mean, std=std,
        n_seeds=len(values), n_samples=samples, status=status if whole else "partial",
        verdict=verdict(
            table, metric, mean, spread, df, len(values), published,
            spread_in_print(metric, numbers, samples),
        ) if comparable else None,
        perfect=fmean(perfect) if perfect else None, note=remarks[0] if remarks else None,
        run_ids=[value.run for value in values], values=values, uncertainty=error, df=df,
        run_error=run_error or None,
    )  # fmt: skip


def source_name(metric: Metric, row: Row, column: Column) -> str:
    """Name of the metric in ``metrics.json``: ``source`` with row, column and variables put in."""
    return filled(metric.source or metric.name, row, column)


def filled(source: str, row: Row, column: Column) -> str:
    """A name with row, column and their variables put in."""
    names: Mapping[str, Any] = {"row": row.name, "column": column.name, **column.vars, **row.vars}
    return source.format_map(names)
