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
from jumpbench.tables.spec import Claim, Table

Verdict = tuple[bool | None, str]


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a value, its standard error, and what to call it."""

    value: float | None
    error: float | None
    label: str

    def scaled(self, factor: float) -> "Side":
        if factor == 1:
            return self
        times = [None if v is None else v * factor for v in (self.value, self.error)]
        return Side(times[0], times[1], f"{factor:g} x {self.label}")


def evaluate(table: Table, cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """``[{id, text, holds, detail}]`` for every claim of the table.

    Raises:
        UserError: a check that the table file spells wrongly.
    """
    return [_evaluate(table, claim, cells) for claim in table.claims]


def _evaluate(table: Table, claim: Claim, cells: Sequence[Cell]) -> dict[str, Any]:
    holds, detail = None, claim.reason or "no check is possible"
    if claim.check is not None:
        holds, detail = _Checker(table, claim.id, cells).check(claim.check)
    return {"id": claim.id, "text": claim.text, "holds": holds, "detail": detail}


class _Checker:
    def __init__(self, table: Table, claim_id: str, cells: Sequence[Cell]) -> None:
        self.table, self.id = table, claim_id
        self.cells = {(c.row, c.column, c.metric): c for c in cells}

    def check(self, check: Mapping[str, Any]) -> Verdict:
        kinds: dict[str, Callable[[Any], Verdict]] = {
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
            return Side(float(where), 0.0, f"{where:g}")
        row, column, metric = where["row"], where["column"], where["metric"]
        label = f"{row} / {column} / {metric}"
        cell = self.cells.get((row, column, metric))
        if cell is None:
            known = {(r.name, c.name, m.name) for r, c, m in self.table.cells()}
            if (row, column, metric) not in known:
                raise self._wrong(f"there is no cell {label}")
            return Side(None, None, label)
        return Side(cell.measured, cell.uncertainty, label)

    def _less(self, left: Side, right: Side, lower: bool = True) -> tuple[bool | None, float, str]:
        """Whether left < right (or >), the z score of the difference, and words for it."""
        words = f"{left.label} {'<' if lower else '>'} {right.label}"
        if left.value is None or right.value is None:
            absent = left.label if left.value is None else right.label
            return None, math.nan, f"no number for {absent}"
        gap = (right.value - left.value) * (1 if lower else -1)
        shown = f"{words}: {left.value:.4g} against {right.value:.4g}"
        error = math.hypot(left.error or 0.0, right.error or 0.0)
        if error == 0:
            known = left.error is not None and right.error is not None
            return gap > 0, math.copysign(math.inf, gap), shown + ("" if known else " (no spread)")
        z = gap / error
        holds = True if z > self.table.sigmas else False if z < -self.table.sigmas else None
        return holds, z, f"{shown} (z = {z:.1f})"

    def _together(self, parts: Sequence[tuple[bool | None, float, str]]) -> Verdict:
        """All comparisons at once; the detail shows those that decide."""
        if not parts:
            raise self._wrong("there is nothing to compare")
        bad = [text for holds, _, text in parts if holds is False]
        if bad:
            return False, _listed(f"fails in {len(bad)} of {len(parts)}", bad)
        if open_ := [text for holds, _, text in parts if holds is None]:
            return None, _listed(f"open in {len(open_)} of {len(parts)}", open_)
        tightest = min(parts, key=lambda part: part[1])
        return True, _listed(f"holds in {len(parts)} of {len(parts)}; tightest", [tightest[2]])

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

    def _best(self, at: Mapping[str, Any]) -> Verdict:
        mine = [row.name for row in self.table.rows if not row.ours and not row.cited]
        parts = []
        for metric, column in self._places(at):
            lower = self._lower(metric)
            left = self._side({"row": at["row"], "column": column, "metric": metric})
            for other in at.get("among") or mine:
                if other != at["row"]:
                    right = self._side({"row": other, "column": column, "metric": metric})
                    parts.append(self._less(left, right, lower))
        return self._together(parts)

    def _order(self, at: Mapping[str, Any]) -> Verdict:
        parts = []
        for metric, column in self._places(at):
            sides = [self._side({"row": r, "column": column, "metric": metric}) for r in at["rows"]]
            pairs = itertools.pairwise(sides)
            parts += [self._less(a, b, self._lower(metric)) for a, b in pairs]
        return self._together(parts)

    def _trend(self, at: Mapping[str, Any]) -> Verdict:
        columns = at.get("columns") or [c.name for c in self.table.columns]
        rising = {"increasing": True, "decreasing": False}[at["direction"]]
        parts = []
        for metric in at.get("metrics") or [at["metric"]]:
            for row in at["rows"]:
                sides = [self._side({"row": row, "column": c, "metric": metric}) for c in columns]
                pairs = itertools.pairwise(sides)
                parts += [self._less(a, b, rising) for a, b in pairs]
        return self._together(parts)

    def _compare(self, at: Mapping[str, Any]) -> Verdict:
        left = self._side(at["left"])
        right = self._side(at["right"]).scaled(float(at.get("factor", 1)))
        lower = {"<": True, ">": False}[at["op"]]
        return self._together([self._less(left, right, lower)])

    def _all(self, checks: Sequence[Mapping[str, Any]]) -> Verdict:
        results = [self.check(check) for check in checks]
        for wanted in (False, None):
            if texts := [text for holds, text in results if holds is wanted]:
                return wanted, "; ".join(texts)
        return True, "; ".join(text for _, text in results)

    def _any(self, checks: Sequence[Mapping[str, Any]]) -> Verdict:
        results = [self.check(check) for check in checks]
        for wanted in (True, None):
            if texts := [text for holds, text in results if holds is wanted]:
                return wanted, texts[0]
        return False, "; ".join(text for _, text in results)


def _listed(head: str, texts: Sequence[str], most: int = 4) -> str:
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return f"{head}: {'; '.join(texts[:most])}{more}"
