"""Contrasts joined by ``all`` and ``any``: what a claim says as a whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jumpbench.tables.judging.comparisons import Contrast


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

    def needed(self) -> Iterator[Contrast]:
        """Leaves without which the whole cannot hold: those that are no alternative to others."""
        for part in self.parts if self.joined == "all" or len(self.parts) == 1 else ():
            if isinstance(part, Tree):
                yield from part.needed()
            else:
                yield part

    def fold(self, signs: Mapping[int, bool | None]) -> bool | None:
        """True, False or open (None), from the sign of every leaf (by its id)."""
        states = [p.fold(signs) if isinstance(p, Tree) else signs[id(p)] for p in self.parts]
        ends = self.joined == "any"  # the state that settles the whole
        return ends if ends in states else None if None in states else not ends
