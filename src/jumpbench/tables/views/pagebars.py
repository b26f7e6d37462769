"""Bars of a record as SVG inside the page: the panels of :func:`barcharts.bars`, at once."""

import math
from collections.abc import Sequence
from html import escape
from typing import cast

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.views.barcharts import chosen_panels, is_logarithmic
from jumpbench.tables.views.figures import Filled
from jumpbench.tables.views.wording import title

_LEFT, _TOP, _HIGH, _LETTER = 64, 22, 130, 6.2
"""Pixels: beside and above a panel, of its bars, and of one letter."""


def svg_bars(filled: Filled) -> str:
    """One panel per metric below each other and the rows' names below all; empty without numbers.

    Bars begin at 0, or at the lower edge of a logarithmic axis; a press or a pointer on one tells
    its number. Error bars and published numbers are as in the picture of a table.
    """
    panels, names = chosen_panels(filled)
    if not panels:
        return ""
    most = max(sum(map(len, by_row.values())) for _, by_row in panels)
    wide = int(min(1000, max(400, 60 + 11 * most)))
    parts, y = [], 0.0
    for metric, by_row in panels:
        part, high = _panel(filled, metric, by_row, names, wide)
        parts.append(f'<g transform="translate(0,{y:.0f})">{part}</g>')
        y += high
    for i, name in enumerate(names):
        parts.append(
            f'<rect x="{_LEFT}" y="{y + 4:.0f}" width="9" height="9" fill="{_colour(i, names)}"/>'
            f'<text x="{_LEFT + 14}" y="{y + 12:.0f}">{escape(filled.row_head(name))}</text>'
        )
        y += 15
    whole = wide + _LEFT + 20
    return (
        f'<svg class="bars" viewBox="0 0 {whole} {y + 6:.0f}" width="{whole}" role="img" '
        f'aria-label="bars of every row">{"".join(parts)}</svg>'
    )


def _panel(
    filled: Filled, metric: str, by_row: dict[str, dict[str, Cell]], names: Sequence[str], wide: int
) -> tuple[str, float]:
    """A panel and its height."""
    columns = [c for c in filled.columns if any(c in cells for cells in by_row.values())]
    cells = [cell for row in by_row.values() for cell in row.values()]
    papers = [_paper(filled, cell) for cell in cells]
    numbers = [cast(float, c.measured) for c in cells] + [p for p in papers if p is not None]
    ends = [cast(float, c.measured) + s * _error(c) for c in cells for s in (-1, 1)]
    logarithmic = is_logarithmic(numbers)
    marks = _decades(numbers) if logarithmic else _round([0.0, *numbers, *ends])
    low, high = marks[0], marks[-1]

    def at(value: float) -> float:
        if logarithmic:
            share = math.log(max(value, low) / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return _TOP + _HIGH * (1 - share)

    parts = [f'<text x="{_LEFT}" y="14">{escape(title(filled.table.metrics[metric]))}</text>']
    for mark in marks:
        parts.append(
            f'<path d="M{_LEFT},{at(mark):.1f}h{wide}" class="grid"/><text x="{_LEFT - 6}" '
            f'y="{at(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>'
        )
    slot = wide / len(columns)
    bar = 0.85 * slot / len(names)
    base = at(low if logarithmic else 0.0)
    for i, row in enumerate(names):
        for column, cell in by_row.get(row, {}).items():
            value, paper = cast(float, cell.measured), _paper(filled, cell)
            x = _LEFT + (columns.index(column) + 0.075) * slot + i * bar
            y, middle = at(value), x + bar / 2
            words = f"{filled.row_head(row)}, {filled.column_head(column)}: {value:.4g}"
            words += "" if paper is None else f" (paper {paper:.4g})"
            parts.append(
                f'<rect x="{x:.1f}" y="{min(y, base):.1f}" width="{bar:.1f}" '
                f'height="{abs(base - y):.1f}" fill="{_colour(i, names)}">'
                f"<title>{escape(words)}</title></rect>"
            )
            if error := _error(cell):
                up, down = at(value + error), at(value - error)
                parts.append(f'<path d="M{middle:.1f},{up:.1f}V{down:.1f}" class="error"/>')
            if paper is not None:
                parts.append(f'<path d="M{x:.1f},{at(paper):.1f}h{bar:.1f}" class="paper"/>')
    heads = [filled.column_head(column) for column in columns]
    longest = _LETTER * max(map(len, heads))
    slanted = longest > slot
    for j, head in enumerate(heads):
        x, y = _LEFT + (j + 0.5) * slot, _TOP + _HIGH + 16
        turn = f' text-anchor="end" transform="rotate(-30 {x:.1f} {y})"' if slanted else ""
        place = turn or ' text-anchor="middle"'
        parts.append(f'<text x="{x:.1f}" y="{y}"{place}>{escape(head)}</text>')
    return "".join(parts), _TOP + _HIGH + 26 + (0.5 * longest if slanted else 0)


def _error(cell: Cell) -> float:
    return cell.std or cell.uncertainty or 0.0


def _paper(filled: Filled, cell: Cell) -> float | None:
    return cell.paper if filled.beside and isinstance(cell.paper, int | float) else None


def _colour(i: int, names: Sequence[str]) -> str:
    """Colours around the circle, neighbours of different brightness."""
    return f"hsl({360 * i / len(names):.0f} 55% {(45, 62)[i % 2]}%)"


def _round(values: Sequence[float]) -> list[float]:
    """About five multiples of 1, 2 or 5 times a power of ten that enclose the values."""
    low, high = min(values), max(values)
    rough = (high - low or abs(high) or 1.0) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(m for m in (1, 2, 5, 10) if m * power >= 0.7 * rough)
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return [k * step for k in range(first, last + 1)]


def _decades(values: Sequence[float]) -> list[float]:
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**k for k in range(first, last + 1)]
