"""Metrics side by side as far as they fit, as a paper lays its tables out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jumpbench.tables.views.layout import Block, Text


@dataclass(frozen=True)
class Panel:
    """Blocks side by side; ``rows`` are those of all of them."""

    blocks: tuple[Block, ...]

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(row for block in self.blocks for row, _ in block.rows))

    def texts(self, row: str) -> list[Sequence[Text]]:
        """A row's cells, by block; empty where a metric has no such row."""
        nothing = Text("", "", "", "none")
        return [dict(b.rows).get(row) or [nothing] * len(b.columns) for b in self.blocks]

    @property
    def perfect(self) -> list[Sequence[str]]:
        """What a perfect method would score, by block; empty if none says so."""
        if not any(number for block in self.blocks for number in block.perfect or ()):
            return []  # of a wide table whose other columns alone have one
        return [block.perfect or [""] * len(block.columns) for block in self.blocks]

    @property
    def perfect_label(self) -> str:
        labels = {block.perfect_label for block in self.blocks if any(block.perfect or ())}
        return labels.pop() if len(labels) == 1 else "perfect"


def panels(whole: Sequence[Block], width: Callable[[Block], int], most: int) -> list[Panel]:
    """Blocks in panels of at most that width beside the rows' names, each split where it is too
    wide alone. Metrics of other rows are not put beside each other."""
    found: list[Panel] = []
    for block in (part for each in whole for part in _split(each, width, most)):
        before = found[-1].blocks if found else ()
        same = bool(before) and [row for row, _ in before[0].rows] == [row for row, _ in block.rows]
        if same and sum(map(width, (*before, block))) <= most:
            found[-1] = Panel((*before, block))
        else:
            found.append(Panel((block,)))
    return found


def _split(block: Block, width: Callable[[Block], int], most: int) -> list[Block]:
    n = len(block.columns)
    if n < 2 or width(block) <= most:
        return [block]
    halves = _part(block, 0, (n + 1) // 2), _part(block, (n + 1) // 2, n)
    return [part for half in halves for part in _split(half, width, most)]


def _part(block: Block, start: int, end: int) -> Block:
    return replace(
        block,
        columns=block.columns[start:end],
        rows=tuple((row, texts[start:end]) for row, texts in block.rows),
        perfect=block.perfect[start:end] if block.perfect else None,
    )
