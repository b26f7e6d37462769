"""What the check of a claim compares: its contrasts of cells, in numbers and in words."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.judging.comparisons import Contrast, Estimate, significant
from jumpbench.tables.judging.tree import Tree
from jumpbench.tables.language.checks import CellRef, Check
from jumpbench.tables.language.scale import Heads
from jumpbench.tables.language.types import Claim, Table

Source = Callable[[str, str, str], Estimate]
"""The number of (row, column, metric)."""


def contrasts(table: Table, claim: Claim, source: Source, heads: Heads) -> Tree:
    """The contrasts of a claim that has a check.

    Raises:
        UserError: there is nothing to compare.
    """
    assert claim.check is not None
    tree = _Builder(table, source, heads).tree(claim.check)
    if not list(tree.leaves()):
        raise UserError(
            f"{table.id}: claim '{claim.id}': there is nothing to compare: no cell has its rows, "
            "columns and metrics"
        )
    return tree


class _Builder:
    """Contrasts of one check, with numbers from ``source`` (measured or printed).

    Rows and columns are called as the scale's ``heads`` call them.
    """

    def __init__(self, table: Table, source: Source, heads: Heads) -> None:
        self.table, self.source, self.heads = table, source, heads
        self.places = {(r.name, c.name, m.name) for r, c, m in table.cells()}

    def tree(self, check: Check) -> Tree:
        if check.kind in ("all", "any"):
            return Tree(check.kind, tuple(self.tree(part) for part in getattr(check, check.kind)))
        builders: dict[str, Callable[[Any], Iterator[Contrast] | Iterator[Tree]]] = {
            "best": self._best, "within": self._within, "order": self._order,
            "compare": self._compare, "trend": self._trend, "u_shaped": self._u_shaped,
            "same_best": self._same_best, "falls_behind": self._falls_behind,
        }  # fmt: skip
        return Tree("all", tuple(builders[check.kind](getattr(check, check.kind))))

    def _places(self, at: Any) -> Iterator[tuple[str, str]]:
        """(metric, column) pairs that a check speaks of and that the table has."""
        directed = [m.name for m in self.table.metrics.values() if m.better != "none"]
        for metric in at.named_metrics or directed:
            for column in self._columns(at):
                yield metric, column

    def _columns(self, at: Any) -> Sequence[str]:
        return at.named_columns or [column.name for column in self.table.columns]

    def _better(
        self, left: str, right: str, column: str, metric: str, margin: float = 0.0
    ) -> Contrast:
        """``left`` is better than ``right`` by more than the margin."""
        lower = self.table.metrics[metric].better == "lower"
        a, b = self.source(left, column, metric), self.source(right, column, metric)
        sign = 1.0 if lower else -1.0
        op = "<" if lower else ">"
        sides = f"{self.heads.row(left)} {op} {self.heads.row(right)}{_by(margin, op)}"
        words = f"{sides} ({self.heads.column(column)}, {metric}){_pair(a, b)}"
        return Contrast(((sign, b), (-sign, a)), -margin, words)

    def _best(self, at: Any) -> Iterator[Contrast]:
        ours = {row.name for row in self.table.rows if row.ours or row.cited}
        others = at.among or [row.name for row in self.table.rows if row.name not in ours]
        for metric, column in self._places(at):
            for other in others:
                if other != at.row and self._has(at.row, other, column, metric):
                    yield self._better(at.row, other, column, metric, at.margin)

    def _order(self, at: Any) -> Iterator[Contrast]:
        for metric, column in self._places(at):
            for left, right in itertools.pairwise(at.rows):
                if self._has(left, right, column, metric):
                    yield self._better(left, right, column, metric, at.margin)

    def _has(self, left: str, right: str, column: str, metric: str) -> bool:
        """Whether the table has both cells, measured or not."""
        return {(left, column, metric), (right, column, metric)} <= self.places

    def _trend(self, at: Any) -> Iterator[Contrast]:
        sign = 1.0 if at.direction == "increasing" else -1.0
        for metric in at.named_metrics:
            for row in at.rows:
                for first, second in itertools.pairwise(self._columns(at)):
                    yield self._along(row, metric, first, second, sign)

    def _u_shaped(self, at: Any) -> Iterator[Tree]:
        metrics = dict.fromkeys(metric for metric, _ in self._places(at))
        for row, metric in itertools.product(at.rows, metrics):
            sign = 1.0 if self.table.metrics[metric].better == "lower" else -1.0
            first, *inner, last = self._columns(at)
            yield Tree("any", tuple(
                Tree("all", tuple(self._along(row, metric, c, end, sign) for end in (first, last)))
                for c in inner
            ))  # fmt: skip

    def _same_best(self, at: Any) -> Iterator[Tree]:
        columns = self._columns(at)
        for metric in dict.fromkeys(metric for metric, _ in self._places(at)):
            sign = 1.0 if self.table.metrics[metric].better == "lower" else -1.0
            yield Tree("any", tuple(
                Tree("all", tuple(
                    self._along(row, metric, best, other, sign)
                    for row, other in itertools.product(at.rows, columns) if other != best
                ))
                for best in columns
            ))  # fmt: skip

    def _along(self, row: str, metric: str, first: str, second: str, sign: float) -> Contrast:
        """From one column of a row to another the number rises (sign 1) or falls (-1)."""
        a, b = self.source(row, first, metric), self.source(row, second, metric)
        sides = map(self.heads.column, (first, second))
        words = f"{(' < ' if sign > 0 else ' > ').join(sides)} ({self.heads.row(row)}, {metric})"
        return Contrast(((sign, b), (-sign, a)), 0.0, words + _pair(a, b))

    def _falls_behind(self, at: Any) -> Iterator[Contrast]:
        columns = self._columns(at)
        centre = (len(columns) - 1) / 2
        norm = sum((k - centre) ** 2 for k in range(len(columns)))
        for metric in at.named_metrics:
            lower = self.table.metrics[metric].better == "lower"
            terms = []
            for k, column in enumerate(columns):
                weight = (k - centre) / norm * (1.0 if lower else -1.0)
                terms.append((weight, self.source(at.row, column, metric)))
                terms.append((-weight, self.source(at.behind, column, metric)))
            weighted = tuple(term for term in terms if term[0])
            contrast = Contrast(weighted, 0.0, "")
            slope = "" if contrast.lacking else f": {significant(contrast.gap, 3)} a column"
            first, last = self.heads.column(columns[0]), self.heads.column(columns[-1])
            words = f"{self.heads.row(at.row)} falls behind {self.heads.row(at.behind)} "
            words += f"from {first} to {last}"
            yield Contrast(weighted, 0.0, f"{words} ({metric}){slope}")

    def _side(self, side: CellRef | float) -> tuple[Estimate, str]:
        if isinstance(side, CellRef):
            place = f"{self.heads.column(side.column)}, {side.metric}"
            label = f"{self._called(side)} ({place})"
            if side.printed:
                return self._printed(side), label
            return self.source(side.row, side.column, side.metric), label
        return Estimate(float(side), 0.0), f"{side:g}"

    def _called(self, side: CellRef) -> str:
        return f"{self.heads.row(side.row)}{' in print' if side.printed else ''}"

    def _printed(self, side: CellRef) -> Estimate:
        """The paper's number, exact up to its rounding; none at a scale with another column."""
        here = self.heads.column(side.column)
        if here != side.column:
            return Estimate(None, lacking=f"{side.row} is printed for {side.column}, not {here}")
        number = self.table.published_number(side.row, side.column, side.metric)
        value = self.table.published_value(side.row, side.column, side.metric)
        return Estimate(value, 0.0, rounding=number.rounding if number else 0.0)

    def _sides(self, left: CellRef, right: CellRef | float, a: str, sign: str, b: str) -> str:
        """What both sides share is said once."""
        row, column = self.heads.row, self.heads.column
        if not isinstance(right, CellRef) or left.metric != right.metric:
            return f"{a}{sign}{b}"
        if left.column == right.column:
            place = f"{column(left.column)}, {left.metric}"
            return f"{row(left.row)}{sign}{self._called(right)} ({place})"
        if left.row == right.row:
            place = f"{row(left.row)}, {left.metric}"
            return f"{column(left.column)}{sign}{column(right.column)} ({place})"
        return f"{a}{sign}{b}"

    def _compare(self, at: Any) -> Iterator[Contrast]:
        """``sign (factor right - left) > margin``."""
        (a, left), (b, right) = self._side(at.left), self._side(at.right)
        sign = 1.0 if at.op == "<" else -1.0
        times = "" if at.factor == 1 else f"{at.factor:g} x "
        sides = self._sides(at.left, at.right, left, f" {at.op} {times}", right)
        words = f"{sides}{_by(at.margin, at.op)}"
        pair = _pair(a, b, at.factor)
        yield Contrast(((sign * at.factor, b), (-sign, a)), -at.margin, words + pair)

    def _within(self, at: Any) -> Iterator[Contrast]:
        (a, left), (b, right) = self._side(at.left), self._side(at.right)
        for sign in (1.0, -1.0):
            bound = f"{'+' if sign > 0 else '-'} {at.margin:g}"
            words = f"{left} {'<' if sign > 0 else '>'} {right} {bound}{_pair(a, b)}"
            yield Contrast(((sign, b), (-sign, a)), at.margin, words)


def _by(margin: float, op: str) -> str:
    """What stands after "left < right" if left must be lower by a margin, or may be higher by it
    (a negative one)."""
    if margin < 0:
        return f" {'+' if op == '<' else '-'} {-margin:g}"
    return f" by {margin:g}" if margin else ""


def _pair(a: Estimate, b: Estimate, factor: float = 1.0) -> str:
    """Both numbers as they are compared, at the seeds that they share."""
    if a.value is None or b.value is None:
        return ""
    both = Contrast(((1.0, a), (1.0, b)), 0.0, "")
    left, right = both.mean(a), factor * both.mean(b)
    # More digits where four of them would hide what is compared
    pairs = [(significant(left, n), significant(right, n)) for n in (4, 5, 6, 8)]
    first, second = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    return f": {first} and {second}"
