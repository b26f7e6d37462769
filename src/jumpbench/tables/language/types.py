"""A table file (``reproduce/SLUG/TABLE.yaml``) as a checked, immutable object.

A file names the published numbers, the grid of runs (rows x columns), what each scale changes,
and the paper's claims. ``docs/table-language.md`` is the reference of the language with the order
in which overrides apply; :mod:`jumpbench.tables.language.spec` reads and checks files.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from jumpbench.tables.language.checks import Check
from jumpbench.tables.language.fields import STRICT, Name, Positive, Words
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.scale import Cost, Scale, ScaleName

PAPERS, OWN = "the paper's setting", "a setting of our own"
"""Why a scale can decide a claim that names none."""


@dataclass(frozen=True)
class Row:
    """A method. ``ours``: not in the paper; ``cited``: shown, never measured; ``exact``: nothing
    of it is trained or drawn, so its numbers have no error; ``reference``: a yardstick, such as a
    solver or exact draws, which is never called the best of a column; ``printed_as``: the row of
    the paper whose setting it has at every scale, and whose printed numbers are its own."""

    name: Name
    overrides: Words = ()
    experiment: str | None = None
    ours: bool = False
    cited: bool = False
    exact: bool = False
    reference: bool = False
    printed_as: str | None = None
    not_target: str | None = None  # why its published numbers are shown and not compared
    note: str | None = None
    columns: Mapping[str, Words] = field(default_factory=dict)  # overrides in single columns
    only: Words | None = None  # columns that it has
    metrics: Words | None = None  # metrics that it has
    seeds: Annotated[int, Field(ge=1, le=1000)] | None = None
    vars: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Column:
    """A setting (overrides), or a choice of metrics of the same run."""

    name: Name
    overrides: Words = ()
    metrics: Words | None = None
    vars: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with the check that decides it (or the reason why none can).

    ``scales``: those that can decide it, each with the reason why it can. Without the key those
    that have the paper's setting, and those that say ``decides`` (a setting of our own). ``ours``:
    the paper, whose table it is, does not say it. ``looks``: how often it was judged while seeds
    were added; its level is divided by that, so that looking again does not make it hold.
    """

    id: Name
    text: Name
    check: Check | None = None
    reason: str | None = None
    scales: Mapping[ScaleName, Name] = field(default_factory=dict)
    ours: bool = False
    looks: Annotated[int, Field(ge=1, le=100)] = 1

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Published:
    """A number of the paper: ``rounding`` is half a unit of its last printed digit."""

    value: float | str
    std: float | None = None
    rounding: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """How far from the paper is too far, in standard errors."""

    sigmas: Positive = 2.0

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Table:
    """One table file."""

    id: str
    title: Name
    about: str
    metrics: Annotated[Mapping[str, Metric], Field(min_length=1)]
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    scales: Annotated[Mapping[str, Scale], Field(min_length=1)]
    published: Mapping[str, Mapping[str, Mapping[str, Published]]] = field(default_factory=dict)
    experiment: str | None = None
    overrides: Words = ()
    cost: Cost | Mapping[ScaleName, Cost] = ""
    data: Words = ()
    verdict: Verdict = Verdict()
    paper_seeds: Annotated[int, Field(ge=1)] = 1
    claims: tuple[Claim, ...] = ()
    figures: tuple[Mapping[str, Any], ...] | None = None  # None: bars of its numbers; (): none
    reading: Words = ()
    extends: str | None = None  # the table whose rows, columns and settings it adds to
    file: str = ""
    foreign: bool = False  # it takes the place of one of the suite's tables

    __pydantic_config__ = STRICT

    @property
    def slug(self) -> str:
        return self.id.split("/")[0]

    @property
    def in_print(self) -> re.Match[str] | None:
        """The conference, kind and numbers that its title begins with; a table of ours has none,
        and its claims are ours."""
        return re.match(r"((?:Conference )?)(Table|Figure)s? ([^:]+): ", self.title)

    @property
    def sigmas(self) -> float:
        return self.verdict.sigmas

    def published_number(self, row: str, column: str, metric: str) -> Published | None:
        return self.published.get(metric, {}).get(row, {}).get(column)

    def published_value(self, row: str, column: str, metric: str) -> float | None:
        """The published number; None where the paper prints nothing, or words."""
        number = self.published_number(row, column, metric)
        return None if number is None or isinstance(number.value, str) else number.value

    def paper(self, row: str, column: str, metric: str) -> tuple[float | str | None, float | None]:
        """Published value and its spread; (None, None) where the paper prints nothing."""
        number = self.published_number(row, column, metric)
        return (None, None) if number is None else (number.value, number.std)

    def deciding(self, claim: Claim) -> Mapping[str, str]:
        """The scales that can decide a claim, with the reason: see :class:`Claim`."""
        if claim.scales or claim.check is None:
            return {str(name): why for name, why in claim.scales.items()}
        return {
            name: PAPERS if scale.compared else OWN
            for name, scale in self.scales.items()
            if scale.compared or scale.decides or (scale.judged and name == "paper")
        }

    def is_exact(self, row: str, metric: str) -> bool:
        """Whether nothing is drawn for a row's numbers of a metric."""
        return self.metrics[metric].exact or any(one.exact for one in self.rows if one.name == row)

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
