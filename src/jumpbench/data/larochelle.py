"""MNIST as H. Larochelle binarised it once for all, each bit drawn from its pixel's grey."""

import io
import zlib
from pathlib import Path

import numpy as np
import torch
from scipy.io import loadmat
from scipy.io.matlab import MatReadError
from torch import Tensor
from torch.nn import functional as F

from jumpbench.data.files import DataFile, check, read
from jumpbench.data.tokens import Batch, TokenData
from jumpbench.errors import DataCorrupt, UserError

SIZES = {"train": 50_000, "valid": 10_000, "test": 10_000}
BITS_MD5 = {
    "train": "8d4f0427d6c2572b5e9994e08bad66de",
    "valid": "3e33becd40c694040e5e6c812e2f4b50",
    "test": "fc34623e13bd64fed2f8b61365198339",
}
"""md5 of the bits, a byte each, of the copies in MATLAB's format that are known. Of the published
text files none has been seen, so of these shape and values alone are checked."""


class LarochelleMnist(TokenData):
    """Binary digits, row by row, without labels: the alternative to thresholding
    (:class:`~jumpbench.data.binary_mnist.BinaryMnist`).

    Training images are the published 50,000; the 10,000 of validation are left alone.

    Args:
        side: 28, or 32: with two rows and columns of 0 on every side.
        root: data root.
        sizes: see :class:`~jumpbench.data.tokens.TokenData`.
    """

    n_states = 2

    def __init__(self, side: int = 28, root: str | Path | None = None, **sizes: int) -> None:
        super().__init__(**sizes)
        if side not in (28, 32):
            raise UserError(f"images have side 28 or 32, not {side}")
        self.side, self.root, self.length = side, root, side**2

    def load(self, split: str) -> Batch:
        bits = load_bits(split, self.root)
        pad = (self.side - 28) // 2
        images = F.pad(bits.view(-1, 28, 28), (pad, pad, pad, pad))
        return {"states": images.flatten(1)}


def load_bits(split: str, root: str | Path | None = None) -> Tensor:
    """Bits (n, 784), uint8, of ``train``, ``valid`` or ``test``.

    Raises:
        DataMissing, DataCorrupt: no such file; neither text of 0 and 1 nor MATLAB's format, another
            shape, or another copy than is known.
    """
    name = f"binarized_mnist_{split}.amat"
    content = read("binarized_mnist", DataFile(name), root)
    matlab = content.startswith(b"MATLAB")
    try:
        bits = _matrix(content) if matlab else _lines(content)
    except (ValueError, TypeError, LookupError, zlib.error, OSError, MatReadError) as error:
        raise DataCorrupt(
            f"{name} cannot be read ({error}): delete it and fetch it again"
        ) from None
    if bits.shape != (SIZES[split], 784) or (bits > 1).any():
        raise DataCorrupt(f"{name} holds numbers of shape {bits.shape}, not {SIZES[split]} images")
    if matlab:
        check(bits.tobytes(), (BITS_MD5[split],), name)
    return torch.from_numpy(bits)


def _matrix(content: bytes) -> np.ndarray:
    """The one matrix of a MATLAB file."""
    named = {k: v for k, v in loadmat(io.BytesIO(content)).items() if not k.startswith("__")}
    (matrix,) = named.values()
    return np.ascontiguousarray(matrix, dtype=np.uint8)


def _lines(content: bytes) -> np.ndarray:
    """Text: an image a line, 0 and 1 between spaces."""
    letters = np.frombuffer(content, np.uint8)
    letters = letters[~np.isin(letters, list(b" \r\n\t"))]
    if not np.isin(letters, list(b"01")).all():
        raise ValueError("it has other letters than 0 and 1")
    return letters.reshape(-1, 784) - ord("0")


def verify(root: str | Path | None = None) -> str:
    """Read all three files."""
    return ", ".join(f"{len(load_bits(split, root))} {split}" for split in SIZES)
