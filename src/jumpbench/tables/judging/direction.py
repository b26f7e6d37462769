"""Which way an undecided claim points: the signs of its contrasts, which are no verdict."""

from dataclasses import dataclass

from jumpbench.tables.judging.comparisons import Contrast
from jumpbench.tables.judging.tree import Tree

SAME, OTHER, MIXED, LEVEL = "same", "other", "mixed", "level"
WORDS = {
    SAME: "points the same way", OTHER: "points the other way", MIXED: "points both ways",
    LEVEL: "cannot be told apart",
}  # fmt: skip
"""Of a claim that is not decided."""

FAINT = 1.0
"""A difference of fewer standard errors, where these are known, points nowhere."""


@dataclass(frozen=True)
class Direction:
    """``way`` is one of :data:`WORDS`, empty where numbers are missing; ``words`` have the
    comparison, or how many there are, and the number of seeds."""

    way: str = ""
    words: str = ""


def direction(tree: Tree) -> Direction:
    """Of a claim whose contrasts are ``tree``.

    It points the same way if the signs of its contrasts, taken as they are, fulfil its check or
    none is against it, the other way if no contrast has the sign that the paper says, and both
    ways otherwise. Equal numbers, and differences within one standard error, have no sign. Where
    numbers are missing it points nowhere, unless the others fulfil the check (one of ``any``).
    """
    leaves = list(tree.leaves())
    signs = {id(leaf): None if leaf.lacking else _sign(leaf) for leaf in leaves}
    lacking = any(leaf.lacking for leaf in leaves)
    if lacking and not tree.fold(signs):
        return Direction()
    there, against = (sum(sign is which for sign in signs.values()) for which in (True, False))
    if not there and not against:
        way = LEVEL
    elif tree.fold(signs) or not against:
        way = SAME
    else:
        way = MIXED if there else OTHER
    if len(leaves) == 1:
        compared = leaves[0].words
    elif there in (0, len(leaves)):
        compared = f"{'all' if there else 'none'} of {len(leaves)} comparisons"
    else:
        compared = f"{there} of {len(leaves)} comparisons do, {against} do not"
    return Direction(way, f"{compared}, {_seeds([leaf for leaf in leaves if not leaf.lacking])}")


def _sign(leaf: Contrast) -> bool | None:
    t = leaf.t()
    if leaf.is_tie or (t is not None and abs(t) < FAINT):
        return None
    return leaf.is_positive


def _seeds(leaves: list[Contrast]) -> str:
    """How many seeds stand behind the comparisons that have an error."""
    uncertain = [leaf for leaf in leaves if any(e.error != 0 for _, e in leaf.terms)]
    if not uncertain:
        return "exact"
    fewest = min(max(len(leaf.seeds), 1) for leaf in uncertain)
    return "one seed" if fewest == 1 else f"{fewest} seeds"
