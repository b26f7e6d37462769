"""What one run says about one cell: a value, or a status and why there is none."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.cells import Value
from jumpbench.tables.judging.recorded_runs import RecordedRuns
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.types import Column, Row
from jumpbench.tables.planning.grid import GridCell
from jumpbench.tables.planning.run import Run
from jumpbench.tables.runs import BY_SAMPLE, METRICS
from jumpbench.tables.runs.failures import failure_status, read_failure
from jumpbench.tables.runs.store import read_metrics

_REMEDY = "delete it and call again"


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

    def recorded(self, entry: GridCell, run: Run) -> Reading | None:
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


def read(entry: GridCell, run: Run, records: Records) -> Reading:
    """The reading of one run for one cell."""
    content = records.get(run)
    if content is None:
        return _without_metrics(entry, run, records)
    if why := _unusable(entry, run, content["metrics"]):
        return Reading(status="failed", why=why)
    metrics, metric = content["metrics"], entry.metric
    number = float(metrics[source_name(metric, entry.row, entry.column)]) * metric.factor
    beside, remark = _beside(entry, run, metrics)
    return Reading(
        Value(run.seed, number, run.id, _by_sample(content, entry)),
        samples=int(float(metrics.get(_count_name(entry, metrics), 0))) or None,
        status="measured", remark=remark, **beside,
    )  # fmt: skip


def _without_metrics(entry: GridCell, run: Run, records: Records) -> Reading:
    """Of a run whose folder holds no whole file of metrics."""
    if why := records.damaged.get(run.hash):
        return Reading(status="failed", why=why)
    if recorded := records.recorded(entry, run):
        return recorded
    if why := read_failure(run.folder):
        return Reading(status=failure_status(run.folder), why=why)
    if why := records.recorded_failure(entry, run):
        return Reading(status="failed", why=why)
    return Reading()


def _unusable(entry: GridCell, run: Run, metrics: Mapping[str, Any]) -> str | None:
    """Why the metrics of a run give a cell no number; None if they do."""
    source = source_name(entry.metric, entry.row, entry.column)
    if source not in metrics:
        near = get_close_matches(source, metrics, n=1)
        return f"{run.id} measured no '{source}'" + (f"; did you mean '{near[0]}'?" if near else "")
    count = _count_name(entry, metrics)
    number, samples = _number(metrics[source]), _number(metrics.get(count, 0))
    if number is None:
        return f"{run.folder / METRICS}: '{source}' is not a number; {_REMEDY}"
    if not math.isfinite(number):
        return f"'{source}' of {run.id} is {number}"
    if samples is None or not math.isfinite(samples) or samples < 0:
        return f"{run.folder / METRICS}: '{count}' is no count; {_REMEDY}"
    return None


def _count_name(entry: GridCell, metrics: Mapping[str, Any]) -> str:
    """What says how many samples a cell is about: ``NAME@POINT`` has them at its own point."""
    _, _, point = source_name(entry.metric, entry.row, entry.column).partition("@")
    own = f"n_samples@{point}"
    return own if point and own in metrics else "n_samples"


def _beside(
    entry: GridCell, run: Run, metrics: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """What stands beside a value, by its name in a reading, and what is wrong with any of it."""
    found: dict[str, Any] = {}
    remark = None
    for key in ("perfect", "sample_std", "error"):
        name = filled(getattr(entry.metric, key) or "", entry.row, entry.column)
        if name not in metrics:
            continue
        number = _number(metrics[name])
        if number is None or not math.isfinite(number):
            remark = f"{run.folder / METRICS}: '{name}' is not a finite number"
        else:
            found[key] = number * entry.metric.factor
    return found, remark


def _by_sample(content: Mapping[str, Any], entry: GridCell) -> list[float] | None:
    """The numbers of a run's samples for a cell; None unless each is there and finite."""
    metric = entry.metric
    name = filled(metric.by_sample or "", entry.row, entry.column)
    kept = content.get(BY_SAMPLE)
    values = kept.get(name) if isinstance(kept, dict) else None
    numbers = list(map(_number, values)) if isinstance(values, list) else []
    whole = [n * metric.factor for n in numbers if n is not None and math.isfinite(n)]
    return whole if whole and len(whole) == len(numbers) else None


def _number(value: Any) -> float | None:
    """A metric as a float (also nan and inf, which json holds as words); None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def source_name(metric: Metric, row: Row, column: Column) -> str:
    """Name of the metric in ``metrics.json``: ``source`` with row, column and variables put in."""
    return filled(metric.source or metric.name, row, column)


def filled(source: str, row: Row, column: Column) -> str:
    """A name with row, column and their variables put in."""
    names: Mapping[str, Any] = {"row": row.name, "column": column.name, **column.vars, **row.vars}
    return source.format_map(names)
