"""A table file (``reproduce/SLUG/TABLE.yaml``) as a checked, immutable object.

A file names the published numbers, the grid of runs (rows x columns), what each scale changes,
and the paper's claims. Every mistake in it is reported as one line with the file and the place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from jumpbench.errors import UserError
from jumpbench.paths import reproduce_dir
from jumpbench.tables.names import no_such

SCALES = ("smoke", "small", "paper")
# libyaml's is ten times as fast; both build plain values only.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Metric:
    """A measured quantity and how it is compared with the published one."""

    name: str
    label: str = ""
    better: str = "none"  # lower | higher | none
    digits: int = 3
    floor: str | None = None  # run metric: what a perfect method would score at this sample count
    seed_std: float | None = None  # stated seed-to-seed spread, used while it cannot be measured
    tolerance: float = 0.0  # extra absolute tolerance of the verdict
    scale: float = 1.0
    source: str | None = None  # name in metrics.json; may contain {row}, {column} and column vars
    unit: str = ""


@dataclass(frozen=True)
class Row:
    """A method. ``ours``: not in the paper; ``cited``: shown, never measured."""

    name: str
    overrides: tuple[str, ...] = ()
    experiment: str | None = None
    ours: bool = False
    cited: bool = False
    not_target: str | None = None
    note: str | None = None
    columns: Mapping[str, list[str]] = field(default_factory=dict)
    only: tuple[str, ...] | None = None
    metrics: tuple[str, ...] | None = None
    seeds: int | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """A setting (overrides), or a choice of metrics of the same run."""

    name: str
    overrides: tuple[str, ...] = ()
    metrics: tuple[str, ...] | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """What a scale changes against the table as written.

    Only the paper scale is compared with the published numbers, and a smaller one that says
    ``compare: true`` because it has the paper's setting; miniatures show them beside their own.
    """

    name: str
    note: str = ""
    compare: bool | None = None
    seeds: int = 1
    overrides: tuple[str, ...] = ()
    rows: Mapping[str, list[str]] = field(default_factory=dict)
    columns: Mapping[str, list[str]] = field(default_factory=dict)
    only_rows: tuple[str, ...] | None = None
    only_columns: tuple[str, ...] | None = None

    @property
    def compared(self) -> bool:
        return self.name == "paper" if self.compare is None else self.compare


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with the check that decides it (or the reason why none can).

    ``scales`` restricts it to scales that can decide it: a cost that a miniature sets itself
    cannot.
    """

    id: str
    text: str
    check: Mapping[str, Any] | None = None
    reason: str | None = None
    scales: tuple[str, ...] = ("small", "paper")


@dataclass(frozen=True)
class Table:
    """One table file."""

    id: str
    title: str
    about: str
    metrics: Mapping[str, Metric]
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    scales: Mapping[str, Scale]
    published: Mapping[str, Mapping[str, Mapping[str, Any]]]
    experiment: str | None = None
    overrides: tuple[str, ...] = ()
    cost: Any = ""
    data: tuple[str, ...] = ()
    sigmas: float = 2.0
    paper_seeds: int = 1
    claims: tuple[Claim, ...] = ()
    figures: tuple[Mapping[str, Any], ...] = ()
    reading: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        return self.id.split("/")[0]

    def paper(self, row: str, column: str, metric: str) -> tuple[float | None, float | None]:
        """Published value and its spread; (None, None) where the paper prints nothing."""
        cell = self.published.get(metric, {}).get(row, {}).get(column)
        if isinstance(cell, Mapping):
            return cell.get("value"), cell.get("std")
        return cell, None

    def cells(self) -> Iterable[tuple[Row, Column, Metric]]:
        """Every cell that the file defines, row by row."""
        for row in self.rows:
            for column in self.columns:
                if row.only is not None and column.name not in row.only:
                    continue
                for metric in self.metrics.values():
                    if column.metrics is not None and metric.name not in column.metrics:
                        continue
                    if row.metrics is None or metric.name in row.metrics:
                        yield row, column, metric


def available() -> list[str]:
    """Ids (``slug/table``) of all table files."""
    folder = reproduce_dir()
    return sorted(f"{path.parent.name}/{path.stem}" for path in folder.glob("*/*.yaml"))


def load(table_id: str) -> Table:
    """Read and check one table file.

    Raises:
        UserError: no such table, unreadable yaml, unknown or missing keys, names that do not match.
    """
    path = reproduce_dir() / f"{table_id}.yaml"
    if not path.is_file():
        raise no_such("table", table_id, available())
    return parse(table_id, path)


def parse(table_id: str, path: Path) -> Table:
    """Read the table file at ``path``."""
    try:
        raw = yaml.load(path.read_text(), Loader=_LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it is not text"
        raise UserError(f"{path}{place}: not valid YAML: {what}") from None
    try:
        table = _table(table_id, raw)
        _check(table)
    except _Malformed as error:
        raise UserError(f"{path}: {error}") from None
    return table


class _Malformed(Exception):
    """A mistake in a table file, without the file's name."""


def _build(kind: type, raw: Any, place: str, **given: Any) -> Any:
    """A dataclass from a mapping; sequences become tuples; unknown and missing keys are errors."""
    if not isinstance(raw, Mapping):
        raise _Malformed(f"{place} must be a mapping, not {type(raw).__name__}")
    known = {f.name: f for f in fields(kind)}
    values = dict(given)
    for key, value in raw.items():
        if key not in known:
            raise _Malformed(f"unknown key '{key}' in {place}; known: {', '.join(known)}")
        text = str(known[key].type)
        if text.startswith("tuple") and value is not None:
            if not isinstance(value, list):
                raise _Malformed(f"'{key}' in {place} must be a list")
            value = tuple(value)
        elif text.startswith(("Mapping", "collections.abc.Mapping")) and value is None:
            value = {}
        values[key] = value
    try:
        return kind(**values)
    except TypeError as error:
        missing = str(error).split(":")[-1].strip()
        raise _Malformed(f"{place} lacks {missing}") from None


def _table(table_id: str, raw: Any) -> Table:
    if not isinstance(raw, Mapping):
        raise _Malformed("a table file is a mapping with title, rows, columns, metrics, scales")
    raw = dict(raw)
    verdict = raw.pop("verdict", None) or {}
    if not isinstance(verdict, Mapping) or set(verdict) - {"sigmas"}:
        raise _Malformed("'verdict' must be a mapping with the one key 'sigmas'")

    def named(key: str, kind: type) -> dict[str, Any]:
        part = raw.get(key) or {}
        if not isinstance(part, Mapping):
            raise _Malformed(f"'{key}' must be a mapping")
        return {n: _build(kind, v or {}, f"{key}.{n}", name=n) for n, v in part.items()}

    def listed(key: str, kind: type) -> tuple[Any, ...]:
        part = raw.get(key) or []
        if not isinstance(part, list):
            raise _Malformed(f"'{key}' must be a list")
        return tuple(_build(kind, v, f"{key}[{i}]") for i, v in enumerate(part))

    raw |= {"metrics": named("metrics", Metric), "scales": named("scales", Scale)}
    raw |= {k: listed(k, c) for k, c in (("rows", Row), ("columns", Column), ("claims", Claim))}
    for key in ("overrides", "data", "figures", "reading"):
        raw[key] = list(raw.get(key) or [])
    given = {"id": table_id, "published": raw.pop("published", None) or {}, **verdict}
    for key in ("metrics", "rows", "columns", "claims", "scales"):
        given[key] = raw.pop(key)
    return _build(Table, raw, "the table", **given)


def _check(table: Table) -> None:
    """Names that refer to each other must exist."""
    rows, columns = [r.name for r in table.rows], [c.name for c in table.columns]
    for what, names in (("row", rows), ("column", columns)):
        if not names:
            raise _Malformed(f"there is no {what}")
        if doubled := {n for n in names if names.count(n) > 1}:
            raise _Malformed(f"{what} '{doubled.pop()}' is defined twice")
    known = {"row": rows, "column": columns, "metric": list(table.metrics)}

    def refer(kind: str, names: Iterable[str] | None, place: str) -> None:
        for name in names or ():
            if name not in known[kind]:
                raise _Malformed(f"{place} names the unknown {kind} '{name}'")

    if missing := [s for s in SCALES if s not in table.scales]:
        raise _Malformed(f"scale '{missing[0]}' is missing from 'scales'")
    for scale in table.scales.values():
        if scale.name not in SCALES:
            raise _Malformed(f"unknown scale '{scale.name}'; scales are {', '.join(SCALES)}")
        refer("row", scale.rows, f"scales.{scale.name}.rows")
        refer("column", scale.columns, f"scales.{scale.name}.columns")
        refer("row", scale.only_rows, f"scales.{scale.name}.only_rows")
        refer("column", scale.only_columns, f"scales.{scale.name}.only_columns")
    for row in table.rows:
        refer("column", [*row.columns, *(row.only or ())], f"row '{row.name}'")
        refer("metric", row.metrics, f"row '{row.name}'")
        if not row.cited and not (row.experiment or table.experiment):
            raise _Malformed(f"row '{row.name}' has no experiment")
    for column in table.columns:
        refer("metric", column.metrics, f"column '{column.name}'")
    for claim in table.claims:
        if unknown := set(claim.scales) - set(SCALES):
            raise _Malformed(f"claim '{claim.id}' names the unknown scale '{unknown.pop()}'")
    refer("metric", table.published, "published")
    for metric, by_row in table.published.items():
        refer("row", by_row, f"published.{metric}")
        for row, by_column in by_row.items():
            refer("column", by_column, f"published.{metric}.{row}")
