"""From runs to cells: mean and spread over seeds, status, verdict against the published number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, stdev
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.grid import GridCell
from jumpbench.tables.plan import Run
from jumpbench.tables.spec import Column, Metric, Row, Table
from jumpbench.tables.store import failure_status, read_failure, read_metrics

ENOUGH_SEEDS = 5


@dataclass(frozen=True)
class Cell:
    """One number of a table beside the published one; the unit of ``table.json``."""

    row: str
    column: str
    metric: str
    paper: float | str | None = None
    paper_std: float | None = None
    measured: float | None = None
    std: float | None = None
    n_seeds: int = 0
    n_samples: int | None = None
    status: str = "missing"  # measured | failed | missing | data-missing | cited
    verdict: str | None = None  # match | better | worse
    floor: float | None = None
    note: str | None = None
    run_ids: list[str] = field(default_factory=list)
    uncertainty: float | None = None  # standard error of ``measured``; None if unknown
    asked: bool = True  # False: cited, or not part of the scale

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Records:
    """Metrics of finished runs, each file read once; damaged ones are remembered by message."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any] | None] = {}
        self.damaged: dict[str, str] = {}

    def get(self, run: Run) -> dict[str, Any] | None:
        if self._known.get(run.hash) is None and run.hash not in self.damaged:
            try:
                self._known[run.hash] = read_metrics(run.folder)
            except UserError as error:
                self.damaged[run.hash] = str(error)
        return self._known.get(run.hash)


def collect(table: Table, grid: Sequence[GridCell], records: Records, scale: str) -> list[Cell]:
    """All cells of the grid as they stand now."""
    compare = table.scales[scale].compared
    return [_cell(table, entry, records, compare) for entry in grid]


def _cell(table: Table, entry: GridCell, records: Records, compare: bool) -> Cell:
    row, column, metric = entry.row, entry.column, entry.metric
    paper, paper_std = table.paper(row.name, column.name, metric.name)
    base = {
        "row": row.name, "column": column.name, "metric": metric.name,
        "paper": paper, "paper_std": paper_std, "asked": entry.asked,
    }  # fmt: skip
    if row.cited:
        return Cell(**base, status="cited", note=row.note)
    source = source_name(metric, row, column)
    values, floors, samples, used, problems = [], [], [], [], []
    for run in entry.runs:
        if (record := records.get(run)) is None:
            why = records.damaged.get(run.hash) or read_failure(run.folder)
            if why:
                status = "failed" if run.hash in records.damaged else failure_status(run.folder)
                problems.append((status, why))
            continue
        metrics = record["metrics"]
        if source not in metrics:
            problems.append(("failed", f"{run.id} measured no '{source}'"))
            continue
        value = float(metrics[source]) * metric.scale
        if not math.isfinite(value):
            problems.append(("failed", f"'{source}' of {run.id} is {value}"))
            continue
        values.append(value)
        used.append(run.id)
        if metric.floor and metric.floor in metrics:
            floors.append(float(metrics[metric.floor]) * metric.scale)
        if "n_samples" in metrics:
            samples.append(int(float(metrics["n_samples"])))
    if not values:
        status, note = problems[0] if problems else ("missing", entry.missing_because)
        return Cell(**base, status=status, note=note, run_ids=[run.id for run in entry.runs])
    mean, spread = fmean(values), stdev(values) if len(values) > 1 else None
    error = _seed_std(metric, spread, len(values))
    se = None if error is None else error / math.sqrt(len(values))
    comparable = compare and not row.not_target
    return Cell(
        **base, measured=mean, std=spread, n_seeds=len(values),
        n_samples=min(samples) if samples else None, status="measured",
        verdict=verdict(table, metric, mean, error, len(values), paper) if comparable else None,
        floor=fmean(floors) if floors else None, run_ids=used, uncertainty=se,
        note=problems[0][1] if problems else None,
    )  # fmt: skip


def source_name(metric: Metric, row: Row, column: Column) -> str:
    """Name of the metric in ``metrics.json``: ``source`` with row, column and variables put in."""
    names: Mapping[str, Any] = {"row": row.name, "column": column.name, **column.vars, **row.vars}
    return (metric.source or metric.name).format_map(names)


def _seed_std(metric: Metric, spread: float | None, n: int) -> float | None:
    """Seed-to-seed standard deviation: measured from five seeds on, else at least the stated.

    The deviation of three seeds is below a third of the true one in one case out of ten.
    """
    if spread is not None and n >= ENOUGH_SEEDS:
        return spread
    known = [s for s in (spread, metric.seed_std) if s is not None]
    return max(known) if known else None


def verdict(
    table: Table, metric: Metric, mean: float, std: float | None, n: int, paper: Any
) -> str | None:
    """match | better | worse, or None where nothing can be said.

    Match: ``|mean - paper| <= sigmas * sqrt(std^2 (1/n + 1/paper_seeds) + tolerance^2)`` plus half
    a unit of the last printed digit. None without a published number, a spread or a direction.
    """
    if not isinstance(paper, (int, float)) or (std is None and not metric.tolerance):
        return None
    variance = (std or 0.0) ** 2 * (1 / n + 1 / table.paper_seeds) + metric.tolerance**2
    rounding = 0.5 * 10.0**-metric.digits
    difference = mean - paper
    if abs(difference) <= table.sigmas * math.sqrt(variance) + rounding:
        return "match"
    if metric.better == "none":
        return None
    return "better" if (difference < 0) == (metric.better == "lower") else "worse"
