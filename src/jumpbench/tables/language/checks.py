"""What a claim of a table file may ask: the kinds of check, as typed objects.

A check is a mapping with one key, the kind. ``at`` below stands for the keys that say where it
looks: ``metric`` or ``metrics``, ``column`` or ``columns``; without them it looks at every metric
that has a better direction, and at every column.

    best: {row, among, at}            the row is better than every other (``among``: than these)
    order: {rows, at}                 each row is better than the next one
    trend: {rows, metric, columns, direction}
                                      each step from column to column rises (increasing) or falls
    u_shaped: {rows, at}              some column between the first and the last is better than both
    same_best: {rows, at}             one of the columns is better than all others, in every row
    falls_behind: {row, behind, metric, columns}
                                      the row's disadvantage grows along the columns: the slope of
                                      a line through it is positive
    compare: {left, op, right, factor, margin}
                                      left < factor * right - margin, or left > ... + margin
    within: {left, right, margin}     the two differ by less than the margin
    all: [checks]  any: [checks]      every one, or at least one of them

A side (``left``, ``right``) is a number or a cell ``{row, column, metric}``; with ``printed: true``
the right one is the paper's number in that cell. ``best`` and ``order`` take a ``margin`` too:
better by at least so much.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import Field

from jumpbench.tables.language.fields import STRICT, Finite


@dataclass(frozen=True)
class CellRef:
    """One cell of the table: our number, or the paper's (``printed``), which has no error here."""

    row: str
    column: str
    metric: str
    printed: bool = False

    __pydantic_config__ = STRICT


Side = CellRef | Finite


@dataclass(frozen=True, kw_only=True)
class _Looking:
    """Where a check looks."""

    metric: str | None = None
    metrics: tuple[str, ...] = ()
    column: str | None = None
    columns: tuple[str, ...] = ()

    __pydantic_config__ = STRICT

    @property
    def named_metrics(self) -> tuple[str, ...]:
        return self.metrics or ((self.metric,) if self.metric else ())

    @property
    def named_columns(self) -> tuple[str, ...]:
        return self.columns or ((self.column,) if self.column else ())


@dataclass(frozen=True, kw_only=True)
class Best(_Looking):
    row: str
    among: tuple[str, ...] = ()
    margin: Finite = 0.0


@dataclass(frozen=True, kw_only=True)
class Order(_Looking):
    rows: Annotated[tuple[str, ...], Field(min_length=2)]
    margin: Finite = 0.0


@dataclass(frozen=True, kw_only=True)
class Trend(_Looking):
    rows: Annotated[tuple[str, ...], Field(min_length=1)]
    direction: Literal["increasing", "decreasing"]


@dataclass(frozen=True, kw_only=True)
class UShaped(_Looking):
    rows: Annotated[tuple[str, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class SameBest(_Looking):
    rows: Annotated[tuple[str, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class FallsBehind(_Looking):
    row: str
    behind: str


@dataclass(frozen=True)
class Compare:
    left: CellRef
    op: Literal["<", ">"]
    right: Side
    factor: Finite = 1.0
    margin: Finite = 0.0

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Within:
    left: CellRef
    right: Side
    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Check:
    """Exactly one of its kinds."""

    best: Best | None = None
    order: Order | None = None
    trend: Trend | None = None
    u_shaped: UShaped | None = None
    same_best: SameBest | None = None
    falls_behind: FallsBehind | None = None
    compare: Compare | None = None
    within: Within | None = None
    all: Annotated[tuple["Check", ...], Field(min_length=1)] | None = None
    any: Annotated[tuple["Check", ...], Field(min_length=1)] | None = None

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        kinds = [f.name for f in fields(self)]
        if sum(getattr(self, kind) is not None for kind in kinds) != 1:
            raise ValueError(f"a check is one of {', '.join(kinds)}")

    @property
    def kind(self) -> str:
        return next(f.name for f in fields(self) if getattr(self, f.name) is not None)

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Every check inside this one that is not ``all`` or ``any``: (kind, arguments)."""
        if self.kind in ("all", "any"):
            for check in getattr(self, self.kind):
                yield from check.parts()
        else:
            yield self.kind, getattr(self, self.kind)
