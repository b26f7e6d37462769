"""The paper's claims, decided from the cells with their uncertainty.

Every check (:mod:`jumpbench.tables.checks`) comes down to contrasts of cells that the paper says
are positive (:mod:`jumpbench.tables.comparisons`). A contrast is decided if it differs from zero
at the level of ``sigmas`` standard errors, which all contrasts of the claim share (Holm's
procedure, Student's t); a tie, a number that is missing or partial, or a spread that nobody knows
leaves it open. A claim holds if all its contrasts are decided for it, fails if one is decided
against it, and is open otherwise.

Beside each claim stands whether it holds *in print*: in the paper's own numbers, by their signs.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpbench.errors import UserError
from jumpbench.tables.cells import Cell, by_place
from jumpbench.tables.checks import Check, Place
from jumpbench.tables.comparisons import (
    Contrast,
    Estimate,
    holm,
    significant,
    two_sided_level,
)
from jumpbench.tables.language import Claim, Scale, Table

Source = Callable[[str, str, str], Estimate]


@dataclass(frozen=True)
class Tree:
    """Contrasts joined by ``all`` or ``any``."""

    joined: str
    parts: tuple["Tree | Contrast", ...]

    def leaves(self) -> Iterator[Contrast]:
        for part in self.parts:
            if isinstance(part, Tree):
                yield from part.leaves()
            else:
                yield part

    def fold(self, signs: Mapping[int, bool | None]) -> bool | None:
        """True, False or open (None), from the sign of every leaf (by its id)."""
        states = [p.fold(signs) if isinstance(p, Tree) else signs[id(p)] for p in self.parts]
        ends = self.joined == "any"  # the state that settles the whole
        return ends if ends in states else None if None in states else not ends


def evaluate(
    table: Table, cells: Sequence[Cell], scale: str, not_judged: str = ""
) -> list[dict[str, Any]]:
    """``[{id, text, holds, detail, in_print}]`` for every claim of the table.

    ``not_judged`` says why no claim of this table can be judged (overrides, a foreign file).
    """
    places = by_place(list(cells))

    def measured(row: str, column: str, metric: str) -> Estimate:
        published = table.published_number(row, column, metric)
        rounding = published.rounding if published and table.metrics[metric].printed else 0.0
        if (cell := places.get((row, column, metric))) is None:
            return Estimate(None, lacking=f"no number for {row} ({column}, {metric})")
        return cell.estimate(rounding)

    results = []
    for claim in table.claims:
        holds, detail = None, claim.reason or ""
        if claim.check is not None:
            why = not_judged or unfit(claim, table.scales[scale])
            holds, detail = (None, why) if why else decide(table, _tree(table, claim, measured))
        results.append(
            {"id": claim.id, "text": claim.text, "holds": holds, "detail": detail,
             "in_print": in_print(table, claim)}
        )  # fmt: skip
    return results


def unfit(claim: Claim, scale: Scale) -> str:
    """Why a scale cannot decide a claim, empty if it can."""
    if claim.judged_at(scale):
        return ""
    return "miniature: not judged" if scale.kind == "miniature" else f"{scale.kind}: not judged"


def decide(table: Table, tree: Tree) -> tuple[bool | None, str]:
    """Whether the claim holds, and the contrasts that decide it in words."""
    leaves = list(tree.leaves())
    decided = holm([leaf.p_value() for leaf in leaves], two_sided_level(table.sigmas))
    signs = {
        id(leaf): (leaf.gap > 0) if yes else None for leaf, yes in zip(leaves, decided, strict=True)
    }
    holds = tree.fold(signs)
    if all(leaf.lacking for leaf in leaves):
        return None, f"open: none of its {len(leaves)} comparisons has all its numbers"
    if holds:
        tightest = min(
            (leaf for leaf in leaves if signs[id(leaf)]), key=lambda leaf: abs(leaf.t() or 0.0)
        )
        return True, f"holds, {len(leaves)} comparisons; tightest: {_words(tightest)}"
    word = "open" if holds is None else "fails"
    deciding = [_words(leaf) for leaf in leaves if signs[id(leaf)] is holds]
    return holds, _listed(f"{word} in {len(deciding)} of {len(leaves)}", deciding)


def _words(leaf: Contrast) -> str:
    if leaf.lacking:
        return leaf.lacking
    t = leaf.t()
    if leaf.is_tie:
        return f"{leaf.words} (equal)"
    if t is None:
        return f"{leaf.words} (no spread is known)"
    return f"{leaf.words} (t = {t:.1f})"


def in_print(table: Table, claim: Claim) -> str | None:
    """``holds``, ``fails in k of m`` (by the signs of printed differences), ``not printed``."""
    if claim.check is None or not table.published:
        return None

    def printed(row: str, column: str, metric: str) -> Estimate:
        number = table.published_number(row, column, metric)
        value = None if number is None or isinstance(number.value, str) else number.value
        return Estimate(value if table.metrics[metric].printed else None)

    tree = _tree(table, claim, printed)
    leaves = list(tree.leaves())
    signs = {id(leaf): None if leaf.lacking or leaf.is_tie else leaf.gap > 0 for leaf in leaves}
    absent = sum(bool(leaf.lacking) for leaf in leaves)
    if absent == len(leaves):
        return "not printed"
    rest = f"; {absent} of {len(leaves)} not printed" if absent else ""
    holds = tree.fold(signs)
    if holds:
        return "holds" + rest
    against = sum(sign is False for sign in signs.values())
    ties = sum(leaf.is_tie and not leaf.lacking for leaf in leaves)
    if against and holds is False:
        return f"fails in {against} of {len(leaves)}" + rest
    if ties:
        return f"tied in {ties} of {len(leaves)}" + rest
    return "holds where printed" + rest


def _tree(table: Table, claim: Claim, source: Source) -> Tree:
    assert claim.check is not None
    tree = _Builder(table, source).tree(claim.check)
    if not list(tree.leaves()):
        raise UserError(f"{table.id}: claim '{claim.id}': there is nothing to compare")
    return tree


class _Builder:
    """Contrasts of one check, with numbers from ``source`` (measured or printed)."""

    def __init__(self, table: Table, source: Source) -> None:
        self.table, self.source = table, source
        self.places = {(r.name, c.name, m.name) for r, c, m in table.cells()}

    def tree(self, check: Check) -> Tree:
        if check.kind in ("all", "any"):
            return Tree(check.kind, tuple(self.tree(part) for part in getattr(check, check.kind)))
        build = getattr(self, f"_{check.kind}")
        return Tree("all", tuple(build(getattr(check, check.kind))))

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
        by = f" by {margin:g}" if margin else ""
        words = f"{left} {'<' if lower else '>'} {right}{by} ({column}, {metric}){_pair(a, b)}"
        return Contrast(((sign, b), (-sign, a)), -margin, words)

    def _best(self, at: Any) -> Iterator[Contrast]:
        ours = {row.name for row in self.table.rows if row.ours or row.cited}
        others = at.among or [row.name for row in self.table.rows if row.name not in ours]
        for metric, column in self._places(at):
            for other in others:
                there = {(at.row, column, metric), (other, column, metric)} <= self.places
                if other != at.row and there:
                    yield self._better(at.row, other, column, metric, at.margin)

    def _order(self, at: Any) -> Iterator[Contrast]:
        for metric, column in self._places(at):
            for left, right in itertools.pairwise(at.rows):
                yield self._better(left, right, column, metric, at.margin)

    def _trend(self, at: Any) -> Iterator[Contrast]:
        sign = 1.0 if at.direction == "increasing" else -1.0
        for metric in at.named_metrics:
            for row in at.rows:
                for first, second in itertools.pairwise(self._columns(at)):
                    a, b = self.source(row, first, metric), self.source(row, second, metric)
                    words = f"{first} {'<' if sign > 0 else '>'} {second} ({row}, {metric})"
                    yield Contrast(((sign, b), (-sign, a)), 0.0, words + _pair(a, b))

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
            terms = tuple(term for term in terms if term[0])
            contrast = Contrast(terms, 0.0, "")
            slope = "" if contrast.lacking else f": {significant(contrast.gap, 3)} a column"
            words = f"{at.row} falls behind {at.behind} from {columns[0]} to {columns[-1]}"
            yield Contrast(terms, 0.0, f"{words} ({metric}){slope}")

    def _side(self, side: Place | float) -> tuple[Estimate, str]:
        if isinstance(side, Place):
            label = f"{side.row} ({side.column}, {side.metric})"
            return self.source(side.row, side.column, side.metric), label
        return Estimate(float(side), 0.0), f"{side:g}"

    def _compare(self, at: Any) -> Iterator[Contrast]:
        """``sign (factor right - left) > margin``."""
        (a, left), (b, right) = self._side(at.left), self._side(at.right)
        sign = 1.0 if at.op == "<" else -1.0
        times = "" if at.factor == 1 else f"{at.factor:g} x "
        by = f" by {at.margin:g}" if at.margin else ""
        words = f"{_shared(at.left, at.right, left, f' {at.op} {times}', right)}{by}"
        pair = _pair(a, b, at.factor)
        yield Contrast(((sign * at.factor, b), (-sign, a)), -at.margin, words + pair)

    def _within(self, at: Any) -> Iterator[Contrast]:
        (a, left), (b, right) = self._side(at.left), self._side(at.right)
        for sign in (1.0, -1.0):
            bound = f"{'+' if sign > 0 else '-'} {at.margin:g}"
            words = f"{left} {'<' if sign > 0 else '>'} {right} {bound}{_pair(a, b)}"
            yield Contrast(((sign, b), (-sign, a)), at.margin, words)


def _pair(a: Estimate, b: Estimate, factor: float = 1.0) -> str:
    if a.value is None or b.value is None:
        return ""
    return f": {significant(a.value)} and {significant(factor * b.value)}"


def _shared(left: Place, right: Place | float, a: str, sign: str, b: str) -> str:
    """What both sides share is said once."""
    if isinstance(right, Place) and (left.column, left.metric) == (right.column, right.metric):
        return f"{left.row}{sign}{right.row} ({left.column}, {left.metric})"
    if isinstance(right, Place) and (left.row, left.metric) == (right.row, right.metric):
        return f"{left.column}{sign}{right.column} ({left.row}, {left.metric})"
    return f"{a}{sign}{b}"


def _listed(head: str, texts: Sequence[str], most: int = 3) -> str:
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return f"{head}: {'; '.join(texts[:most])}{more}"
