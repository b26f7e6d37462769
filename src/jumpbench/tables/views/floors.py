"""What a perfect method would score, as pictures show it: dotted."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.views.layout import ALIKE

PERFECT = "perfect"
DOTTED: dict[str, Any] = {"color": "0.3", "ls": ":", "lw": 1.2}


def floor(cell: Cell) -> float | None:
    """A cell's floor or ceiling, where it can be drawn: a number other than zero."""
    return cell.perfect if cell.perfect and math.isfinite(cell.perfect) else None


def ends(cells: Sequence[Cell]) -> list[float]:
    """The least and the largest floor of some cells; their mean alone where they are alike."""
    found = [value for cell in cells if (value := floor(cell)) is not None]
    if not found:
        return []
    low, high = min(found), max(found)
    return [fmean((low, high))] if high <= ALIKE * low else [low, high]
