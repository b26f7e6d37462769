"""Claims of a paper or of ours, decided from the cells with their uncertainty.

Every check (:mod:`jumpbench.tables.language.checks`) comes down to contrasts of cells that the
paper says are positive (:mod:`jumpbench.tables.judging.comparisons`). A contrast is decided if it
differs from zero at the level of ``sigmas`` standard errors (Student's t, or the sign test of what
is counted by training); a tie, a number that is missing or partial, or a spread that is not
measured leaves it open. A claim holds if all its contrasts are decided for it (an
intersection-union test; of alternatives, one), fails if one is decided against it (of
alternatives, all) at a level that all share (Holm's procedure), and is open otherwise. It is
judged at the scales alone that it names.

Beside each claim stands whether it holds *in print*: in the paper's own numbers, by their signs.
One that is not decided has a direction (:mod:`jumpbench.tables.judging.direction`), no verdict.
"""

import math
from collections.abc import Sequence
from typing import Any

from jumpbench.tables.judging.cells import Cell, by_place
from jumpbench.tables.judging.comparisons import COMMON_SEEDS, Contrast, Estimate
from jumpbench.tables.judging.contrasts import contrasts
from jumpbench.tables.judging.direction import Direction, direction
from jumpbench.tables.judging.levels import holm, two_sided_level
from jumpbench.tables.judging.tree import Tree
from jumpbench.tables.language.scale import Heads
from jumpbench.tables.language.types import Claim, Table


def evaluate(
    table: Table, cells: Sequence[Cell], scale: str, not_judged: str = ""
) -> list[dict[str, Any]]:
    """``[{id, text, holds, detail, because, in_print, way, direction}]`` for every claim.

    ``because`` is the table file's reason why this scale can decide it; ``way`` and ``direction``
    say where an undecided one points, and are empty at smoke scale and for one without numbers.

    ``not_judged`` says why no claim of this table can be judged (overrides, a foreign file).
    """
    places = by_place(list(cells))
    chosen = table.scales.get(scale)
    heads = chosen.heads if chosen else Heads()
    replicates = chosen.replicates if chosen else ""

    def measured(row: str, column: str, metric: str) -> Estimate:
        place = f"{heads.row(row)} ({heads.column(column)}, {metric})"
        if (cell := places.get((row, column, metric))) is None:
            return Estimate(None, lacking=f"no number for {place}")
        exact = table.is_exact(row, metric)
        return cell.estimate(table.metrics[metric], exact, place, bool(replicates))

    results = []
    for claim in table.claims:
        holds, detail, points = None, claim.reason or "", Direction()
        if claim.check is not None:
            detail = not_judged or unfit(table, claim, scale)
            if not detail:
                tree = contrasts(table, claim, measured, heads)
                holds, detail = decide(table, tree, replicates, claim.looks)
            if holds is None and not not_judged and scale != "smoke":
                points = direction(contrasts(table, claim, measured, heads))
        results.append(
            {"id": claim.id, "text": claim.text, "holds": holds, "detail": detail,
             "because": None if not_judged else table.deciding(claim).get(scale),
             "in_print": in_print(table, claim), "way": points.way, "direction": points.words}
        )  # fmt: skip
    return results


def unfit(table: Table, claim: Claim, scale: str) -> str:
    """Which scales decide a claim, where this one cannot; empty if it can.

    Why they can stands beside the verdict that they give.
    """
    scales = table.deciding(claim)
    if scale in scales:
        return ""
    return f"can be decided at {' and '.join(scales)}, not at {scale}"


def decide(
    table: Table, tree: Tree, replicates: str = "", looks: int = 1
) -> tuple[bool | None, str]:
    """Whether the claim holds, and the contrasts that decide it in words.

    Args:
        looks: verdicts that were sought while seeds were added; they share the level (Bonferroni).
    """
    leaves = list(tree.leaves())
    signs = _signs(tree, two_sided_level(table.sigmas) / looks)
    holds = tree.fold(signs)
    if all(leaf.lacking for leaf in leaves):
        none = f"none of its {len(leaves)} comparisons has all its numbers"
        return None, f"open: {none if len(leaves) > 1 else leaves[0].lacking}"
    of_one_seed = all(leaf.is_of_one_seed for leaf in leaves)
    over = f" over {replicates}" if replicates and of_one_seed else ""
    if of_one_seed and not over:
        return None, f"open: {leaves[0].unknown}; {COMMON_SEEDS} would show one"
    if holds:
        # Among exact numbers, whose t is infinite, the nearest to its bound.
        tightest = min(
            (leaf for leaf in leaves if signs[id(leaf)]),
            key=lambda leaf: (abs(leaf.t() or 0.0), abs(leaf.gap)),
        )
        several = f", {len(leaves)} comparisons; tightest" if len(leaves) > 1 else ""
        return True, f"holds{over}{several}: {_words(tightest)}"
    word = "open" if holds is None else "fails"
    deciding = [_words(leaf) for leaf in leaves if signs[id(leaf)] is holds]
    share = f" in {len(deciding)} of {len(leaves)}" if len(leaves) > 1 else ""
    return holds, _listed(f"{word}{over}{share}", deciding)


def _signs(tree: Tree, level: float) -> dict[int, bool | None]:
    """Whether each leaf (by its id) is decided for the claim, against it, or not at all.

    No verdict is wrong more often than ``level``. Against the claim one leaf is enough, so that all
    share the level (Holm). A leaf that must hold has the whole level: a claim that needs several
    is wrong only if the false one among them is, however many they are (Berger, 1982).
    """
    leaves = list(tree.leaves())
    p_values = [leaf.p_value() for leaf in leaves]
    needed = {id(leaf) for leaf in tree.needed()}
    signs: dict[int, bool | None] = {}
    for leaf, p, shared in zip(leaves, p_values, holm(p_values, level), strict=True):
        alone = id(leaf) in needed and p is not None and p <= level and leaf.is_positive
        signs[id(leaf)] = leaf.is_positive if shared or alone else None
    return signs


def _words(leaf: Contrast) -> str:
    if leaf.lacking:
        return leaf.lacking
    t = leaf.t()
    if leaf.is_tie:
        return f"{leaf.words} (equal)"
    if t is None:
        return f"{leaf.words} ({leaf.unknown})"
    return f"{leaf.words} (exact)" if math.isinf(t) else f"{leaf.words} (t = {t:.1f})"


def in_print(table: Table, claim: Claim) -> str | None:
    """``holds``, ``fails in k of m`` (by the signs of printed differences), ``not printed``."""
    if claim.check is None or claim.ours or not table.published:
        return None
    printed_as = {row.name: row.printed_as or row.name for row in table.rows}

    def printed(row: str, column: str, metric: str) -> Estimate:
        value = table.published_value(printed_as[row], column, metric)
        return Estimate(value if table.metrics[metric].printed else None)

    tree = contrasts(table, claim, printed, Heads())
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


def _listed(head: str, texts: Sequence[str], most: int = 3) -> str:
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return f"{head}: {'; '.join(texts[:most])}{more}"
