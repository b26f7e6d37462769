"""CIFAR-10: verified uint8 images and labels in one canonical order, whatever file they come from.

The published archives and other lossless copies hold the same records in different orders, so a
split is verified as a *set*: the sum over its records of md5(record), modulo 2^128. Records
are then sorted by their md5, so that a run gives the same numbers from any of these sources.
"""

import hashlib
import io
import pickle
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from jumpbench.data.files import DataFile, check, located, read
from jumpbench.errors import DataCorrupt
from jumpbench.paths import data_root

RECORD_BYTES = 1 + 3 * 32 * 32
SETS = {
    "train": (50000, "3736ca0499efa984ef17682f72ddd881"),
    "test": (10000, "8d7a26d3e5b6b0f84b28dca262732da4"),
}
BINARY_ARCHIVE = "cifar-10-binary.tar.gz"
PYTHON_ARCHIVE = "cifar-10-python.tar.gz"
# md5 of the published pickles; a pickle with another checksum is never opened.
PICKLE_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}


def _places(folder: str, name: str, archive: str) -> dict:
    return {
        "also": tuple(f"{top}{folder}/{name}" for top in ("cifar10/", "")),
        "archives": tuple((f"{top}{archive}", f"{folder}/{name}") for top in ("cifar10/", "")),
        "urls": (f"https://www.cs.toronto.edu/~kriz/{archive}",),
    }


BINARY_FILES = {
    name: DataFile(f"{name}.bin", **_places("cifar-10-batches-bin", f"{name}.bin", BINARY_ARCHIVE))
    for name in PICKLE_MD5
}
PICKLE_FILES = {
    name: DataFile(name, (md5,), **_places("cifar-10-batches-py", name, PYTHON_ARCHIVE))
    for name, md5 in PICKLE_MD5.items()
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
    names = [name for name in PICKLE_MD5 if name.startswith("data" if train else "test")]
    records = np.concatenate([_records(name, root) for name in names])
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


def _records(name: str, root: str | None) -> np.ndarray:
    """Records uint8 (10000, 3073) of one batch file: the label, then the three colour planes."""
    pickled = PICKLE_FILES[name]
    if located("cifar10", BINARY_FILES[name], root) is None and (
        located("cifar10", pickled, root) is not None
    ):
        content = check(read("cifar10", pickled, root), pickled.md5, name)
        batch = pickle.load(io.BytesIO(content), encoding="bytes")
        labels = np.asarray(batch[b"labels"], np.uint8)[:, None]
        return np.concatenate([labels, batch[b"data"]], axis=1)
    content = read("cifar10", BINARY_FILES[name], root)
    if not content or len(content) % RECORD_BYTES:
        raise DataCorrupt(
            f"CIFAR-10 {name}: {len(content)} bytes are no whole number of {RECORD_BYTES}-byte "
            f"records; delete it and fetch {BINARY_ARCHIVE} again"
        )
    return np.frombuffer(content, np.uint8).reshape(-1, RECORD_BYTES)


def verify(root: str | Path | None = None) -> str:
    """Read and verify both splits."""
    return ", ".join(f"{len(load_cifar10(train, root)[0])} records" for train in (True, False))
