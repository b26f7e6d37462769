"""Figures of samples: reconstructed images, Gibbs iterations, boxed digits, piano rolls."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from jumpbench.methods.common.pictures import tiled

REST = 128


def as_images(states: Tensor) -> Tensor:
    """Bits (n, side^2) or pixels (n, C, H, W) as images (n, C, H, W)."""
    if states.ndim == 4:
        return states
    side = math.isqrt(states.shape[-1])
    return states.reshape(-1, 1, side, side)


def reconstructions(
    table: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    count: int = 10,
) -> Any:
    """One panel per column of the table: true images, and below them those of every row.

    Shows the artifacts ``images`` (else ``samples``) beside ``truth``; None if there are none.
    """
    import matplotlib.pyplot as plt

    artifacts = {
        (row, column): artifact
        for row in (rows or table.rows)
        for column in (columns or table.columns)
        if (artifact := table.artifact(row, column)) is not None and "truth" in artifact
    }
    columns = [c for c in table.columns if any(c == column for _, column in artifacts)]
    if not columns:
        return None
    lines = {c: [row for row, column in artifacts if column == c] for c in columns}
    deepest = 1 + max(map(len, lines.values()))
    figure, axes = plt.subplots(
        1, len(columns), figsize=(0.55 * count * len(columns) + 1, 0.55 * deepest + 0.4),
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis, column in zip(axes[0], columns, strict=True):
        shown = [artifacts[row, column] for row in lines[column]]
        parts = [as_images(shown[0]["truth"])[:count]]
        parts += [as_images(a.get("images", a["samples"]))[:count] for a in shown]
        _page(axis, torch.cat(parts), len(parts[0]), ["truth", *map(table.row_head, lines[column])])
        if len(columns) > 1:
            axis.set_title(table.column_head(column), fontsize=9)
    return figure


def gibbs_iterations(table: Any, row: str, column: str, count: int = 2, steps: int = 12) -> Any:
    """Figure 1: the truth, then z and x of some iterations of ``count`` chains, left to right."""
    import matplotlib.pyplot as plt

    artifact = table.artifact(row, column)
    if artifact is None or "path" not in artifact:
        return None
    path = artifact["path"][:count]  # (B, K, 2, D), x before z
    last = path.shape[1] - 1
    iterations = torch.linspace(0, last, min(steps, last + 1)).round().long().unique()
    lines, names = [], []
    for b, chain in enumerate(path):
        for which, name in ((1, "z"), (0, "x")):
            truth = artifact["truth"][b : b + 1]
            lines.append(as_images(torch.cat([truth, chain[iterations, which]])))
            names.append(f"{name}, chain {b + 1}")
    width = len(iterations) + 1
    figure, axis = plt.subplots(figsize=(0.6 * width + 1, 0.6 * len(lines) + 0.4))
    side = lines[0].shape[-1] + 1
    _page(axis, torch.cat(lines), width, names)
    ticks = ["truth", *(f"k={int(k) + 1}" for k in iterations)]
    axis.set_xticks([side * (i + 0.5) - 1 for i in range(width)], ticks, fontsize=7)
    return figure


def boxed_digit(table: Any, row: str, column: str, count: int = 24) -> Any:
    """Figure 3: a digit, what of it is observed (the rest in grey), and samples by their class."""
    import matplotlib.pyplot as plt

    artifact = table.artifact(row, column)
    if artifact is None or "observed" not in artifact:
        return None
    truth, samples = artifact["truth"][:1], artifact["samples"]
    if "labels" in artifact:
        # Spread over the classes that occur, so that a rare one is seen too.
        order = artifact["labels"].argsort(stable=True)
        pick = torch.linspace(0, len(order) - 1, min(count, len(order))).round().long()
        samples = samples[order[pick]]
    seen = torch.where(artifact["observed"], 2 * truth, torch.ones_like(truth))
    pictures = torch.cat([2 * truth, seen, 2 * samples[:count]])
    across = min(13, len(pictures))
    figure, axis = plt.subplots(figsize=(0.6 * across, 0.6 * -(-len(pictures) // across)))
    _page(axis, as_images(pictures), across, [])
    return figure


def piano_rolls(table: Any, rows: Sequence[str] | None = None, songs: int = 2) -> Any:
    """One panel per row and column: a song's notes over time; hidden steps are shaded.

    True notes are grey, sampled ones coloured; None if there are none.
    """
    import matplotlib.pyplot as plt

    rolls = [
        (row, column, artifact)
        for column in table.columns
        for row in (rows or table.rows)
        if (artifact := table.artifact(row, column)) is not None and "truth" in artifact
    ]
    if not rolls:
        return None
    figure, axes = plt.subplots(
        len(rolls), songs, figsize=(4.2 * songs, 1.3 * len(rolls)),
        squeeze=False, layout="constrained", sharex=True,
    )  # fmt: skip
    for line, (row, column, artifact) in zip(axes, rolls, strict=True):
        line[0].set_ylabel(f"{table.row_head(row)}\n{table.column_head(column)}", fontsize=7)
        for axis, sample, truth in zip(line, artifact["samples"], artifact["truth"], strict=False):
            for notes, style in ((truth, {"color": "0.7", "lw": 3}), (sample, {"color": "C0"})):
                pitch = notes.double().masked_fill(notes == REST, torch.nan)
                steps = torch.arange(len(pitch) + 1)
                axis.stairs(pitch.numpy(), steps.numpy(), baseline=None, **style)
            for step in (
                (~artifact["observed"]).nonzero().flatten() if "observed" in artifact else ()
            ):
                axis.axvspan(int(step), int(step) + 1, color="C1", alpha=0.15, lw=0)
            axis.tick_params(labelsize=6)
    return figure


def _page(axis: Any, images: Tensor, across: int, names: Sequence[str]) -> None:
    """Images (n, C, H, W) in rows of ``across``, the rows named at the left."""
    page = tiled(images, across)
    axis.imshow(page.numpy(), interpolation="nearest")
    axis.set_xticks([])
    height = images.shape[-2] + 1
    axis.set_yticks([height * (i + 0.5) - 1 for i in range(len(names))], names, fontsize=7)
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
