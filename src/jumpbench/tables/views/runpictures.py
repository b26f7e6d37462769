"""What single runs look like: their learning curve and some of their samples, as small pictures."""

import contextlib
import csv
import io
import math
import os
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.runs import CURVES, SAMPLES, TRAINING
from jumpbench.tables.runs.store import is_run_id, read_config, run_folder
from jumpbench.tables.views.view import View

SHOWN = 32
"""Samples in a picture."""
POINTS = 160
"""Points of a learning curve."""
MOST_NEEDS = 100


def first_cells(view: View) -> dict[str, Cell]:
    """The first run of each cell, by its id, and the first cell that it fills."""
    first: dict[str, Cell] = {}
    for cell in view.cells:
        for value in cell.values[:1]:
            if is_run_id(value.run):
                first.setdefault(value.run, cell)
    return first


def runs_of_rows(view: View) -> dict[str, Path]:
    """The folder of a run of each row, by what the row and its column are called: in the column
    that most rows have, so that they can be compared, else in the first one."""
    runs: dict[str, dict[str, str]] = {}
    for cell in view.cells:
        for value in cell.values[:1]:
            if is_run_id(value.run):
                runs.setdefault(cell.row, {}).setdefault(cell.column, value.run)
    filled = Counter(column for row in runs.values() for column in row)
    chosen = {row: max(there, key=lambda c: filled[c]) for row, there in runs.items()}
    return {
        f"{view.row_head(row)} ({view.column_head(column)})": run_folder(runs[row][column])
        for row, column in chosen.items()
    }


def trained_runs(folder: Path, seen: set[Path] | None = None) -> Iterator[Path]:
    """The run and those beside it that it needs, as far as they have logged a training."""
    seen = set() if seen is None else seen
    seen.add(folder)
    for need in _needed(folder):
        if need not in seen and len(seen) < MOST_NEEDS:  # a damaged one may need itself
            yield from trained_runs(need, seen)
    if os.path.isfile(folder / TRAINING / CURVES):
        yield folder


def _needed(folder: Path) -> list[Path]:
    """Folders under ``needs`` of a run's configuration, those of the same outputs alone."""
    with contextlib.suppress(UserError, AttributeError):
        needs = (read_config(folder).get("needs") or {}).values()
        places = [Path(need) for need in needs if isinstance(need, str)]
        return [place for place in places if place.parent.parent == folder.parent.parent]
    return []


def learning_curve(run: Path) -> tuple[str, list[tuple[float, float]]] | None:
    """(name, [(step, value), ...]) of the first loss that a run logged, thinned to ``POINTS``."""
    with contextlib.suppress(OSError, csv.Error):
        with (run / TRAINING / CURVES).open(newline="", errors="replace") as file:
            rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name and name != "step"] if rows else []
        for name in sorted(names, key=lambda n: ("loss" not in n, names.index(n))):
            points = [p for row in rows if (p := _point(row, name)) is not None]
            if len(points) > 1:
                stride = -(-len(points) // POINTS)
                thinned = points[::stride]
                return name, thinned if thinned[-1] == points[-1] else [*thinned, points[-1]]
    return None


def _point(row: dict[str, str], name: str) -> tuple[float, float] | None:
    try:
        point = float(row["step"]), float(row[name])
    except (KeyError, TypeError, ValueError):
        return None
    return point if all(map(math.isfinite, point)) else None


def samples_picture(run: Path) -> Path | None:
    """``figures/samples.png`` of a run with ``samples.pt``: drawn once, None if there are none."""
    source, picture = run / SAMPLES, run / "figures" / "samples.png"
    if not os.access(source, os.R_OK) or not source.is_file() or picture.parent.is_symlink():
        return None
    if picture.is_file() and picture.stat().st_mtime >= source.stat().st_mtime:
        return picture
    if (samples := _samples(run)) is None:
        return None
    with contextlib.suppress(UserError):
        write_atomic(picture, _png(_tiled(samples[:SHOWN])))
        return picture
    return None


def sample_sheet(runs: Mapping[str, Path]) -> bytes | None:
    """Some samples of each run under its name, as one PNG; None if none draws pictures.

    Images and lattices are shown. Sequences are not: as grey values they say nothing.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pictures = {
        name: images[:SHOWN]
        for name, run in runs.items()
        if (samples := _samples(run)) is not None
        and _is_picture(samples, run)
        and (images := _images(samples)) is not None
    }
    if not pictures:
        return None
    figure, axes = plt.subplots(
        -(-len(pictures) // 2), min(2, len(pictures)), squeeze=False, layout="constrained",
        figsize=(4.8 * min(2, len(pictures)), 1.0 * -(-len(pictures) // 2)),
    )  # fmt: skip
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, (name, images) in zip(axes.flat, pictures.items(), strict=False):
        axis.imshow(_side_by_side(images), cmap="gray", interpolation="nearest")
        axis.set_title(name, fontsize=7)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, bbox_inches="tight")
    plt.close(figure)
    return buffer.getvalue()


def _is_picture(samples: Any, run: Path) -> bool:
    """Whether samples are images, of two values, or states of a lattice: letters are none."""
    if samples.ndim > 2 or samples.max() <= 1:
        return True
    target = None
    with contextlib.suppress(UserError, AttributeError):
        target = (read_config(run).get("method") or {}).get("target")
    return isinstance(target, dict) and "size" in target


def _samples(run: Path) -> Any:
    """The artifact ``samples`` of a run; None if it has none, or they cannot be read."""
    from jumpbench.artifacts import load_artifacts

    try:
        samples: Any = load_artifacts(run).get("samples")
    except (UserError, pickle.UnpicklingError, RuntimeError, OSError, ValueError, EOFError):
        return None
    return None if getattr(samples, "ndim", 0) < 2 or len(samples) == 0 else samples


def _images(samples: Any) -> Any:
    """Samples as bytes ``(n, H, W)`` or ``(n, H, W, 3)``, as far as they are images or lattices."""
    import numpy as np

    x = np.asarray(samples)
    side = math.isqrt(x[0].size)
    if x.ndim == 2:
        if side * side != x.shape[1] or side <= 2 or x.max() > 3:
            return None
        x = x.reshape(len(x), side, side)  # spins and colours of a lattice
    if x.ndim == 4:  # (n, channels, H, W)
        x = x.transpose(0, 2, 3, 1) if x.shape[1] == 3 else x[:, 0]
    return _bytes(x)


def _tiled(samples: Any) -> Any:
    """Samples as one array ``(H, W)`` or ``(H, W, 3)`` of bytes: images and square lattices side by
    side, sequences as lines below one another."""
    import numpy as np

    images = _images(samples)
    return (
        _bytes(np.repeat(np.asarray(samples), 3, axis=0))
        if images is None
        else _side_by_side(images)
    )


def _side_by_side(x: Any) -> Any:
    import numpy as np

    across = min(len(x), 16)
    x = np.concatenate([x, np.repeat(np.full_like(x[:1], 255), -len(x) % across, axis=0)])
    edge = [(0, 0), (1, 1), (1, 1)] + [(0, 0)] * (x.ndim - 3)
    x = np.pad(x, edge, constant_values=128)
    lines = [np.concatenate(list(x[i : i + across]), 1) for i in range(0, len(x), across)]
    return np.concatenate(lines, 0)


def _bytes(x: Any) -> Any:
    import numpy as np

    if x.dtype == np.uint8 and x.max() > 128:
        return x
    x = x.astype(float)
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    return np.nan_to_num((x - low) / ((high - low) or 1.0) * 255).astype(np.uint8)


def _png(pixels: Any) -> bytes:
    from PIL import Image

    height, width = pixels.shape[:2]
    larger = max(1, min(320 // width, 160 // height))
    pixels = pixels.repeat(larger, 0).repeat(larger, 1)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()
