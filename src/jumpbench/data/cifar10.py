"""CIFAR-10: verified uint8 images and labels in one canonical order, whatever file they come from.

The published archives and other lossless copies hold the same records in different orders, so a
split is verified as a *set*: the sum over its records of md5(record), modulo 2^128. Records
are then sorted by their md5, so that a run gives the same numbers from any of these sources.
"""

import hashlib
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor

from jumpbench.data.files import DataFile, located, read, unpack_member
from jumpbench.errors import DataCorrupt
from jumpbench.paths import data_root

RECORD_BYTES = 1 + 3 * 32 * 32
SETS = {
    "train": (50000, "3736ca0499efa984ef17682f72ddd881"),
    "test": (10000, "8d7a26d3e5b6b0f84b28dca262732da4"),
}
BINARY_ARCHIVE = "cifar-10-binary.tar.gz"
PYTHON_ARCHIVE = "cifar-10-python.tar.gz"
BINARY_FOLDER, PYTHON_FOLDER = "cifar-10-batches-bin", "cifar-10-batches-py"
BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
TOPS = ("cifar10/", "")
FILES = {
    name: DataFile(
        f"{name}.bin",
        also=tuple(f"{top}{BINARY_FOLDER}/{name}.bin" for top in TOPS),
        archives=tuple((f"{top}{BINARY_ARCHIVE}", f"{BINARY_FOLDER}/{name}.bin") for top in TOPS),
        urls=(f"https://www.cs.toronto.edu/~kriz/{BINARY_ARCHIVE}",),
    )
    for names in BATCHES.values()
    for name in names
}


def load_cifar10(train: bool, root: str | Path | None = None) -> tuple[Tensor, Tensor]:
    """Images uint8 (N, 3, 32, 32) and labels uint8 (N,); N = 50000 (train) or 10000 (test).

    The tensors are shared by all callers: do not write into them. Raises
    :class:`~jumpbench.errors.DataMissing` or :class:`~jumpbench.errors.DataCorrupt`.
    """
    return _load(train, str(root) if root is not None else None)


@lru_cache(maxsize=2)
def _load(train: bool, root: str | None) -> tuple[Tensor, Tensor]:
    split = "train" if train else "test"
    records = _records(split, root)
    size, expected = SETS[split]
    digests = np.array([hashlib.md5(record, usedforsecurity=False).digest() for record in records])
    checksum = set_checksum(digests)
    if len(records) != size or checksum != expected:
        raise DataCorrupt(
            f"the CIFAR-10 {split} files under {data_root(root).absolute()} are not the published "
            f"set: {len(records)} records with set checksum {checksum}, not {size} with "
            f"{expected}; delete them and fetch {BINARY_ARCHIVE} again"
        )
    records = records[np.argsort(digests, kind="stable")]
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return images, torch.from_numpy(records[:, 0].copy())


def set_checksum(digests: np.ndarray) -> str:
    """Sum of 16-byte digests modulo 2^128, as 32 hexadecimal digits; blind to their order."""
    # An 'S16' array drops trailing zero bytes of an item, so every digest is padded again.
    total = sum(int.from_bytes(bytes(digest).ljust(16, b"\0"), "big") for digest in digests)
    return f"{total % 2**128:032x}"


def _records(split: str, root: str | None) -> np.ndarray:
    """Records uint8 (N, 3073) in a file's order: the label, then the three colour planes."""
    if located("cifar10", FILES[BATCHES[split][0]], root) is None:
        for top in (data_root(root) / name for name in TOPS):
            if (top / PYTHON_FOLDER).is_dir():
                return _pickled(top, split)
            if (top / PYTHON_ARCHIVE).is_file():
                return _unpacked(top / PYTHON_ARCHIVE, split)
    parts = []
    for name in BATCHES[split]:
        content = read("cifar10", FILES[name], root)
        if not content or len(content) % RECORD_BYTES:
            raise DataCorrupt(
                f"CIFAR-10 {name}: {len(content)} bytes are no whole number of {RECORD_BYTES}-byte "
                f"records; delete it and fetch {BINARY_ARCHIVE} again"
            )
        parts.append(np.frombuffer(content, np.uint8).reshape(-1, RECORD_BYTES))
    return np.concatenate(parts)


def _pickled(top: Path, split: str) -> np.ndarray:
    """Records of torchvision's layout; it opens no pickle without its published md5."""
    from torchvision.datasets import CIFAR10

    try:
        published = CIFAR10(top, train=split == "train")
    except RuntimeError as error:
        raise DataCorrupt(
            f"{top / PYTHON_FOLDER} does not hold the published files of {PYTHON_ARCHIVE}; "
            "delete it and fetch that again"
        ) from error
    planes = published.data.transpose(0, 3, 1, 2).reshape(-1, RECORD_BYTES - 1)
    return np.concatenate([np.asarray(published.targets, np.uint8)[:, None], planes], axis=1)


def _unpacked(archive: Path, split: str) -> np.ndarray:
    """Records of the python archive: torchvision would unpack it into a root that may be
    read-only, and takes none that was packed again."""
    with TemporaryDirectory() as folder:
        (Path(folder) / PYTHON_FOLDER).mkdir()
        for name in (*BATCHES["train"], *BATCHES["test"], "batches.meta"):
            content = unpack_member(archive, f"{PYTHON_FOLDER}/{name}")
            if content is None:
                raise DataCorrupt(f"{archive} does not hold {name}: delete it and fetch it again")
            (Path(folder) / PYTHON_FOLDER / name).write_bytes(content)
        return _pickled(Path(folder), split)


def verify(root: str | Path | None = None) -> str:
    """Read and verify both splits."""
    return ", ".join(f"{len(load_cifar10(train, root)[0])} records" for train in (True, False))
