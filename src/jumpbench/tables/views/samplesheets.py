"""Sheets of samples of single runs, as small pictures."""

import contextlib
import io
import math
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpbench.errors import UserError
from jumpbench.files import write_atomic
from jumpbench.tables.runs import SAMPLES
from jumpbench.tables.runs.store import read_config

SHOWN = 32
"""Samples in a picture."""


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
