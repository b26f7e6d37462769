"""The paper's claims, decided from the cells with their uncertainty.

Every check comes down to comparisons "a is better than b". A comparison holds if the difference
exceeds ``sigmas`` standard errors in the stated direction, fails if it does so in the other one,
and is undecided in between; where no spread is known the sign alone decides. A claim holds if all
its comparisons hold, fails if one fails, and is otherwise open (null).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.collect import Cell
from jumpbench.tables.spec import Table

# (holds, z score of the difference, words)
Comparison = tuple[bool | None, float, str]


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a value, its standard error, and where it stands."""

    value: float | None
    error: float | None
    row: str = ""
    column: str = ""
    metric: str = ""

    @property
    def label(self) -> str:
        return f"{self.row} ({self.column}, {self.metric})" if self.row else f"{self.value:g}"


def evaluate(table: Table, cells: Sequence[Cell], scale: str) -> list[dict[str, Any]]:
    """``[{id, text, holds, detail}]`` for every claim of the table.

    At a scale that cannot decide it (smoke never can), a claim is checked for its spelling and
    left open.

    Raises:
        UserError: a check that the table file spells wrongly.
    """
    found = []
    for claim in table.claims:
        holds, detail = None, claim.reason or "no check is possible"
        if claim.check is not None:
            holds, detail = _Checker(table, claim.id, cells).decide(claim.check)
            if scale not in claim.scales:
                holds, detail = None, f"not evaluated at the {scale} scale"
        found.append({"id": claim.id, "text": claim.text, "holds": holds, "detail": detail})
    return found


class _Checker:
    def __init__(self, table: Table, claim_id: str, cells: Sequence[Cell]) -> None:
        self.table, self.id = table, claim_id
        self.cells = {(c.row, c.column, c.metric): c for c in cells}

    def decide(self, check: Mapping[str, Any]) -> tuple[bool | None, str]:
        """All comparisons of a check at once; the words show those that decide."""
        parts = self._check(check)
        if not parts:
            raise self._wrong("there is nothing to compare")
        if all(math.isnan(z) and holds is None for holds, z, _ in parts):
            return None, f"open: none of its {len(parts)} comparisons has both numbers"
        for wanted, word in ((False, "fails"), (None, "open")):
            if deciding := [text for holds, _, text in parts if holds is wanted]:
                return wanted, _listed(f"{word} in {len(deciding)} of {len(parts)}", deciding)
        tightest = min(parts, key=lambda part: part[1])
        return True, _listed(f"holds in {len(parts)} of {len(parts)}; tightest", [tightest[2]])

    def _check(self, check: Mapping[str, Any]) -> list[Comparison]:
        kinds: dict[str, Callable[[Any], list[Comparison]]] = {
            "best": self._best, "order": self._order, "trend": self._trend,
            "compare": self._compare, "all": self._all, "any": self._any,
        }  # fmt: skip
        if not isinstance(check, Mapping) or len(check) != 1 or next(iter(check)) not in kinds:
            raise self._wrong(f"a check is one of {', '.join(kinds)}")
        (kind, arguments), *_ = check.items()
        try:
            return kinds[kind](arguments)
        except (KeyError, TypeError) as error:
            raise self._wrong(f"'{kind}' lacks or misuses {error}") from None

    def _wrong(self, what: str) -> UserError:
        return UserError(f"{self.table.id}: claim '{self.id}': {what}")

    def _side(self, where: Any) -> Side:
        if isinstance(where, (int, float)):
            return Side(float(where), 0.0)
        place = where["row"], where["column"], where["metric"]
        cell = self.cells.get(place)
        if cell is None:
            if place not in {(r.name, c.name, m.name) for r, c, m in self.table.cells()}:
                raise self._wrong(f"there is no cell {' / '.join(place)}")
            return Side(None, None, *place)
        return Side(cell.measured, cell.uncertainty, *place)

    def _less(self, left: Side, right: Side, lower: bool = True, factor: float = 1.0) -> Comparison:
        """Whether left < factor * right (or >)."""
        words = _compared(left, right, "<" if lower else ">", factor)
        if left.value is None or right.value is None:
            absent = left if left.value is None else right
            return None, math.nan, f"no number for {absent.label}"
        gap = (factor * right.value - left.value) * (1 if lower else -1)
        shown = f"{words}: {left.value:.4g} and {factor * right.value:.4g}"
        error = math.hypot(left.error or 0.0, factor * (right.error or 0.0))
        if error == 0:
            known = left.error is not None and right.error is not None
            return gap > 0, math.copysign(math.inf, gap), shown + ("" if known else " (no spread)")
        z = gap / error
        holds = True if z > self.table.sigmas else False if z < -self.table.sigmas else None
        return holds, z, f"{shown} (z = {z:.1f})"

    def _places(self, at: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """(metric, column) pairs that a check speaks of; all of the table where it names none."""
        metrics = at.get("metrics") or ([at["metric"]] if "metric" in at else None)
        columns = at.get("columns") or ([at["column"]] if "column" in at else None)
        for metric in metrics or self.table.metrics:
            for column in columns or [c.name for c in self.table.columns]:
                yield metric, column

    def _lower(self, metric: str) -> bool:
        if metric not in self.table.metrics:
            raise self._wrong(f"there is no metric '{metric}'")
        better = self.table.metrics[metric].better
        if better == "none":
            raise self._wrong(f"metric '{metric}' has no better direction")
        return better == "lower"

    def _best(self, at: Mapping[str, Any]) -> list[Comparison]:
        others = at.get("among") or [
            row.name for row in self.table.rows if not row.ours and not row.cited
        ]
        parts = []
        for metric, column in self._places(at):
            lower = self._lower(metric)
            left = self._side({"row": at["row"], "column": column, "metric": metric})
            for other in others:
                if other != at["row"]:
                    right = self._side({"row": other, "column": column, "metric": metric})
                    parts.append(self._less(left, right, lower))
        return parts

    def _order(self, at: Mapping[str, Any]) -> list[Comparison]:
        parts = []
        for metric, column in self._places(at):
            sides = [self._side({"row": r, "column": column, "metric": metric}) for r in at["rows"]]
            lower = self._lower(metric)
            parts += [self._less(a, b, lower) for a, b in itertools.pairwise(sides)]
        return parts

    def _trend(self, at: Mapping[str, Any]) -> list[Comparison]:
        columns = at.get("columns") or [c.name for c in self.table.columns]
        rising = {"increasing": True, "decreasing": False}[at["direction"]]
        parts = []
        for metric in at.get("metrics") or [at["metric"]]:
            for row in at["rows"]:
                sides = [self._side({"row": row, "column": c, "metric": metric}) for c in columns]
                parts += [self._less(a, b, rising) for a, b in itertools.pairwise(sides)]
        return parts

    def _compare(self, at: Mapping[str, Any]) -> list[Comparison]:
        lower = {"<": True, ">": False}[at["op"]]
        sides = self._side(at["left"]), self._side(at["right"])
        return [self._less(*sides, lower, float(at.get("factor", 1)))]

    def _all(self, checks: Sequence[Mapping[str, Any]]) -> list[Comparison]:
        return [part for check in checks for part in self._check(check)]

    def _any(self, checks: Sequence[Mapping[str, Any]]) -> list[Comparison]:
        """One comparison that holds if one of the checks does, and fails if all of them do."""
        results = [self.decide(check) for check in checks]
        holds = [verdict for verdict, _ in results]
        verdict = True if True in holds else None if None in holds else False
        texts = [text for found, text in results if found is verdict]
        return [(verdict, math.nan, texts[0] if verdict else "; ".join(texts))]


def _compared(left: Side, right: Side, sign: str, factor: float) -> str:
    """``A < B (D=5, tv)``: what both sides share is said once."""
    times = "" if factor == 1 else f"{factor:g} x "
    if (left.column, left.metric) == (right.column, right.metric) and left.row:
        return f"{left.row} {sign} {times}{right.row} ({left.column}, {left.metric})"
    if (left.row, left.metric) == (right.row, right.metric) and left.row:
        return f"{left.column} {sign} {times}{right.column} ({left.row}, {left.metric})"
    return f"{left.label} {sign} {times}{right.label}"


def _listed(head: str, texts: Sequence[str], most: int = 3) -> str:
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return f"{head}: {'; '.join(texts[:most])}{more}"
