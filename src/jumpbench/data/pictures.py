"""Pictures of any size from a folder, as squares of one size."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from jumpbench.data.files import origin
from jumpbench.errors import DataCorrupt, DataMissing
from jumpbench.paths import data_root

SUFFIXES = (".png", ".jpg", ".jpeg")


def picture_files(folder: str, root: str | Path | None = None) -> list[Path]:
    """All PNG and JPEG files below the folder, by name.

    Raises:
        DataMissing: there are none.
    """
    top = data_root(root) / folder
    paths = (
        sorted(p for p in top.rglob("*") if p.suffix.lower() in SUFFIXES) if top.is_dir() else []
    )
    if not paths:
        raise DataMissing(
            f"{folder}: put the pictures (png or jpg, in subfolders or not) into {top.absolute()}"
            f"{origin(folder)}"
        )
    return paths


def load_pictures(
    folder: str, train: bool, size: int, held_out: int, root: str | Path | None = None
) -> Tensor:
    """uint8 (N, 3, size, size): all pictures but the last ``held_out`` by name, or these.

    Raises:
        DataMissing: no pictures, or no more than are held out.
        DataCorrupt: one that cannot be read.
    """
    files = picture_files(folder, root)
    if len(files) <= held_out:
        raise DataMissing(
            f"{folder}: {len(files)} pictures, of which {held_out} are test images; put more into "
            f"{(data_root(root) / folder).absolute()}"
        )
    chosen = files[:-held_out] if train else files[-held_out:]
    images = torch.empty(len(chosen), 3, size, size, dtype=torch.uint8)
    for index, path in enumerate(chosen):
        images[index] = square(path, size)
    return images


def square(path: Path, size: int) -> Tensor:
    """uint8 (3, size, size): the largest centred square, resized with antialiasing."""
    from PIL import Image, UnidentifiedImageError

    try:
        picture = Image.open(path).convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise DataCorrupt(f"{path} cannot be read ({error}): fetch it again") from error
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    picture = picture.crop((left, top, left + side, top + side))
    picture = picture.resize((size, size), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1)


def verify_ffhq(root: str | Path | None = None) -> str:
    """Read the first and the last picture."""
    files = picture_files("ffhq", root)
    for path in (files[0], files[-1]):
        square(path, 256)
    return f"{len(files)} pictures"
