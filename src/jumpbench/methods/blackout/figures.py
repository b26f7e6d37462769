"""Figures of images: samples of every row, and how they come about."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from jumpbench.methods.common.pictures import tiled, white


def sample_grids(
    table: Any,
    rows: list[str] | None = None,
    side: int = 8,
    columns: list[str] | None = None,
    captions: Mapping[str, str] | None = None,
) -> Any:
    """At most ``side`` x ``side`` samples per row and column of the table; None if there are none.

    More than a run shows are taken from all of its samples, where it kept them. ``captions`` are
    lines below the heads of single rows.
    """
    import matplotlib.pyplot as plt

    panels = [
        (row, column, _enough(artifact, side * side))
        for column in (columns or table.columns)
        for row in (rows or table.rows)
        if (artifact := table.artifact(row, column)) is not None and "images" in artifact
    ]
    if not panels:
        return None
    side = min(side, math.isqrt(max(len(images) for *_, images in panels) - 1) + 1)
    pixels = side * max(images.shape[-1] + 1 for *_, images in panels)
    across = min(4, len(panels)) if pixels <= 400 else 1
    down = -(-len(panels) // across)
    wide = max(2.6, pixels / 100)  # inches: no pixel of a large sheet is lost
    figure, axes = plt.subplots(
        down, across, figsize=(wide * across, (wide + 0.3) * down), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, (row, column, images) in zip(axes.flat, panels, strict=False):
        axis.imshow(tiled(images, side, maximum=white(images)).numpy(), interpolation="nearest")
        title = table.row_head(row)
        if len(table.columns) > 1:
            title += f"\n{table.column_head(column)}"
        title = title.replace(", ", ",\n", 1)
        if captions and row in captions:
            title += f"\n{captions[row]}"
        axis.set_title(title, fontsize=8)
    return figure


def _enough(artifact: dict[str, Any], count: int) -> Tensor:
    images = artifact["images"]
    return (images if len(images) >= count else artifact.get("samples", images))[:count]


def paths(
    table: Any,
    row: str,
    column: str,
    count: int = 16,
    stretched: bool = False,
) -> Any:
    """States along the way of ``count`` samples, one line each (Figs. 3, 6, 11).

    Args:
        stretched: every state from its darkest to its brightest value, as in Fig. 3.
    """
    import matplotlib.pyplot as plt

    artifact = table.artifact(row, column)
    if artifact is None or "path" not in artifact:
        return None
    path = artifact["path"][:count].float()
    maximum = white(path)
    if stretched:
        low, high = (f(path, (2, 3, 4), keepdim=True) for f in (torch.amin, torch.amax))
        path, maximum = (path - low) / (high - low).clamp(min=1), 1
    size = (0.6 * path.shape[1], 0.6 * len(path))
    figure, axis = plt.subplots(figsize=size, layout="constrained")
    axis.set_axis_off()
    axis.imshow(
        tiled(path.flatten(0, 1), path.shape[1], maximum=maximum).numpy(), interpolation="nearest"
    )
    return figure
