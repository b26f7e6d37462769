"""Figures of ordered lists: jigsaws and numbers put in order, and tours."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from jumpbench.processes.permutations import apply
from jumpbench.solvers.tours import tour_length

WRONG, RIGHT = (0.85, 0.1, 0.1), (0.5, 0.5, 0.5)
"""Colours of the frames of pieces: at another one's place, and at their own."""


def pieces_in_order(
    table: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    count: int = 8,
    across: int | None = None,
) -> Any:
    """The first test lists of pictures, as presented and as each row orders them.

    One panel per column of the table; pieces at a wrong place have a red frame, unless what belongs
    there looks alike. None where no row has samples.

    Args:
        rows: of the table, those with samples by default.
        columns: likewise; all, at a scale that has none of these.
        count: lists side by side.
        across: pieces in a line of a list; by default they make a square.
    """
    import matplotlib.pyplot as plt

    shown = rows or table.rows
    panels = _panels(table, shown, columns or (), count) or _panels(
        table, shown, table.columns, count
    )
    if not panels:
        return None
    pages = [(column, *_page(found, across)) for column, found in panels]
    widest = max(page.shape[1] for _, page, *_ in pages)
    tall = sum(page.shape[0] for _, page, *_ in pages) / widest * 6.5
    figure, axes = plt.subplots(
        len(pages), 1, figsize=(8.5, tall + 0.45 * len(pages)), squeeze=False, layout="constrained",
        height_ratios=[page.shape[0] for _, page, *_ in pages],
    )  # fmt: skip
    for axis, (column, page, middles, rows_shown) in zip(axes[:, 0], pages, strict=True):
        axis.imshow(page.numpy(), interpolation="nearest")
        axis.set_xticks([])
        names = ["presented", *map(table.row_head, rows_shown)]
        axis.set_yticks(middles, names, fontsize=7)
        axis.tick_params(length=0)
        axis.set_title(table.column_head(column), fontsize=8)
        for spine in axis.spines.values():
            spine.set_visible(False)
    return figure


def _panels(
    table: Any, rows: Sequence[str], columns: Sequence[str], count: int
) -> list[tuple[str, list[tuple[str, dict[str, Tensor], Tensor]]]]:
    found = ((column, list(_ordered(table, rows, column, count))) for column in columns)
    return [(column, lists) for column, lists in found if lists]


def _ordered(
    table: Any, rows: Sequence[str], column: str, count: int
) -> Iterator[tuple[str, dict[str, Tensor], Tensor]]:
    """(row, first test lists, orders drawn for them) of the rows that have both."""
    for row in rows:
        artifact = table.artifact(row, column)
        if artifact is not None and (batch := table.tested(row, column, count)) is not None:
            yield row, batch, artifact["samples"][:count].long()


def _page(
    found: Sequence[tuple[str, dict[str, Tensor], Tensor]], across: int | None
) -> tuple[Tensor, list[float], list[str]]:
    """Lists under one another, the middle of every line, and the rows that they belong to."""
    _, first, order = found[0]
    everywhere = torch.ones_like(order, dtype=torch.bool)
    lines = [_line(first["objects"], everywhere, across)]
    for _, batch, order in found:
        placed = apply(order, batch["objects"])
        lines.append(_line(placed, _at_home(order, batch), across))
    middles = [(i + 0.5) * lines[0].shape[0] for i in range(len(lines))]
    return torch.cat(lines), middles, [row for row, *_ in found]


def _at_home(order: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """Which places (B, n) hold what belongs there; of look-alikes, any of them."""
    groups = batch["groups"]
    return apply(order, groups) == apply(batch["order"], groups)


def _line(pieces: Tensor, right: Tensor, across: int | None) -> Tensor:
    """Lists (B, n, C, h, w) side by side as one picture (H, W, 3), each piece in its frame."""
    lists, n, _, height, width = pieces.shape
    columns = min(across or math.ceil(math.sqrt(n)), n)
    low, high = pieces.amin(), pieces.amax()
    shades = ((pieces - low) / (high - low).clamp_min(1e-6)).expand(-1, -1, 3, -1, -1)
    frame = torch.where(right[..., None], torch.tensor(RIGHT), torch.tensor(WRONG))
    edge = max(1, height // 14)
    framed = frame[..., None, None].expand(-1, -1, -1, height + 2 * edge, width + 2 * edge)
    framed = framed.clone()
    framed[..., edge:-edge, edge:-edge] = shades
    blank = framed.new_ones(lists, -n % columns, *framed.shape[2:])
    grid = torch.cat([framed, blank], 1).unflatten(1, (-1, columns))  # (B, rows, columns, 3, h, w)
    whole = grid.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)
    edged = torch.nn.functional.pad(whole, (3, 3, 3, 3), value=1.0)
    return edged.permute(2, 0, 3, 1).flatten(1, 2)


def tours(table: Any, rows: Sequence[str] | None = None, column: str = "", count: int = 5) -> Any:
    """Tours of the first test instances, a line for each row, with their gaps to the label's; None
    where no row has samples."""
    import matplotlib.pyplot as plt

    column = column or table.columns[0]
    found = list(_ordered(table, rows or table.rows, column, count))
    if not found:
        return None
    figure, axes = plt.subplots(
        len(found), count, figsize=(1.7 * count, 1.85 * len(found)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for line, (row, batch, order) in zip(axes, found, strict=True):
        points = batch["objects"]
        label = tour_length(points, batch["order"])
        gaps = 100 * (tour_length(points, order) / label - 1)
        for axis, cities, tour, gap in zip(line, points, order, gaps, strict=False):
            closed = cities[torch.cat([tour, tour[:1]])]
            axis.plot(closed[:, 0], closed[:, 1], "o-", ms=2.5, lw=0.9, color="C0")
            axis.set_title(f"gap {gap:z.2f} %", fontsize=7)  # z: rounding leaves no -0.00
        for axis in line:
            axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=[], yticks=[], aspect="equal")
        line[0].set_ylabel(table.row_head(row), fontsize=7)
    return figure
