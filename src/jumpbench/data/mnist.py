"""MNIST: verified uint8 images and labels, and a tiny generated stand-in for smoke runs.

One reader for loose and compressed files, in torchvision's layout or not: torchvision's ``MNIST``
opens unpacked files only, so it would have to write into a root that may be read-only.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from jumpbench.data.files import DataFile, read
from jumpbench.errors import DataCorrupt
from jumpbench.seeding import make_generator

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
FILES = {
    name: DataFile(
        name,
        (md5,),
        # torchvision's layout, and the older spelling with a dot
        also=(
            f"MNIST/raw/{name}",
            f"mnist/MNIST/raw/{name}",
            f"mnist/{name.replace('-idx', '.idx')}",
        ),
        urls=tuple(f"{mirror}/{name}.gz" for mirror in MIRRORS),
    )
    for name, md5 in MD5.items()
}


def load_mnist(train: bool, root: str | Path | None = None) -> tuple[Tensor, Tensor]:
    """Images uint8 (N, 28, 28) and labels uint8 (N,); N = 60000 (train) or 10000 (test).

    The tensors are shared by all callers: do not write into them. Raises
    :class:`~jumpbench.errors.DataMissing` or :class:`~jumpbench.errors.DataCorrupt`.
    """
    return _load(train, str(root) if root is not None else None)


@lru_cache(maxsize=4)
def _load(train: bool, root: str | None) -> tuple[Tensor, Tensor]:
    split = "train" if train else "t10k"
    images = parse_idx(read("mnist", FILES[f"{split}-images-idx3-ubyte"], root))
    labels = parse_idx(read("mnist", FILES[f"{split}-labels-idx1-ubyte"], root))
    return images, labels


def verify(root: str | Path | None = None) -> str:
    """Read and verify the four files."""
    return ", ".join(f"{len(load_mnist(train, root)[0])} images" for train in (True, False))


def parse_idx(content: bytes) -> Tensor:
    """The array of an IDX file of unsigned bytes: magic 0, 0, 8, rank; big-endian sizes; data."""
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise DataCorrupt("not an IDX file of unsigned bytes: its first bytes are not 00 00 08")
    rank = content[3]
    sizes = np.frombuffer(content, ">u4", rank, 4).astype(int)
    data = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    if data.size != sizes.prod():
        raise DataCorrupt(f"IDX file of size {tuple(sizes)} holds {data.size} bytes: truncated?")
    return torch.from_numpy(data.reshape(sizes).copy())


# Seven strokes of a 4 x 7 display: (first row, last row, first column, last column)
STROKES = (
    (0, 1, 0, 4),
    (0, 4, 3, 4),
    (3, 7, 3, 4),
    (6, 7, 0, 4),
    (3, 7, 0, 1),
    (0, 4, 0, 1),
    (3, 4, 0, 4),
)
# The strokes of each digit, a (top) clockwise to f, then g (middle)
DIGITS = ("012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356")


def generated_digits(size: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Seven-segment digits, blurred, shifted and of varying brightness; MNIST's shapes and types.

    For smoke runs and tests only: images uint8 (size, 28, 28), labels uint8 (size,), by ``seed``.
    """
    generator = make_generator(seed, "generated digits")
    glyphs = torch.zeros(10, 7, 4)
    for digit, strokes in enumerate(DIGITS):
        for stroke in map(int, strokes):
            top, bottom, left, right = STROKES[stroke]
            glyphs[digit, top:bottom, left:right] = 1
    glyphs = glyphs.repeat_interleave(2, 1).repeat_interleave(3, 2)  # 14 x 12
    labels = torch.randint(10, (size,), generator=generator)
    shifts = torch.randint(-3, 4, (size, 2), generator=generator)
    # image[r, c] = glyph[r - 7 - shift, c - 8 - shift] where that lies inside the glyph
    rows = (torch.arange(28) - 7 - shifts[:, :1]).unsqueeze(2)
    columns = (torch.arange(28) - 8 - shifts[:, 1:]).unsqueeze(1)
    inside = (rows >= 0) & (rows < 14) & (columns >= 0) & (columns < 12)
    picked = glyphs[labels.view(-1, 1, 1), rows.clamp(0, 13), columns.clamp(0, 11)]
    images = torch.nn.functional.avg_pool2d((picked * inside).unsqueeze(1), 3, 1, 1).squeeze(1)
    brightness = 0.6 + 0.4 * torch.rand(size, 1, 1, generator=generator)
    return (255 * images * brightness).to(torch.uint8), labels.to(torch.uint8)
