"""Pictures of any size from a folder, as squares of one size."""

from pathlib import Path
from typing import BinaryIO

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


def square(picture: Path | BinaryIO, size: int, side: int | None = None, name: str = "") -> Tensor:
    """uint8 (3, size, size): the centred square of ``side`` pixels, or the largest, resized.

    Pictures stay PIL's while they are resized: its filters are those of the published recipes,
    and the filters of tensors differ by a count. The crop begins at the lower of two middles,
    where torchvision's ``center_crop`` takes the even one, and pads pictures that are too small.

    Raises:
        DataCorrupt: a picture that cannot be read or is smaller than ``side``.
    """
    from PIL import Image, UnidentifiedImageError
    from torchvision.transforms.v2 import InterpolationMode, functional

    name = name or str(picture)
    try:
        opened = Image.open(picture).convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise DataCorrupt(f"{name} cannot be read ({error}): fetch it again") from error
    mode = InterpolationMode.BILINEAR if side else InterpolationMode.BICUBIC
    side = side or min(opened.size)
    if side > min(opened.size):
        raise DataCorrupt(f"{name} is {opened.size}, too small for a {side} pixel crop")
    top, left = (opened.height - side) // 2, (opened.width - side) // 2
    return functional.pil_to_tensor(
        functional.resized_crop(opened, top, left, side, side, [size, size], mode)
    )


def verify_ffhq(root: str | Path | None = None) -> str:
    """Read the first and the last picture."""
    files = picture_files("ffhq", root)
    for path in (files[0], files[-1]):
        square(path, 256)
    return f"{len(files)} pictures"
