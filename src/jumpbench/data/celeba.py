"""CelebA: aligned JPEG pictures from a folder or the published archive, by the published split.

torchvision's ``CelebA`` is not used: it asks for four lists of annotations that no model reads,
for an unpacked folder and for ``gdown``. Its layout is read, and its checksums are held to.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from jumpbench.data.files import origin
from jumpbench.data.pictures import square
from jumpbench.errors import DataCorrupt, DataMissing
from jumpbench.paths import data_root

FOLDER, ARCHIVE, SPLIT = "img_align_celeba", "img_align_celeba.zip", "list_eval_partition.txt"
SPLIT_MD5 = "d32c9cbf5e040fd4025c592c306e6668"

CROP = 140


def load_celeba(train: bool, size: int = 64, root: str | Path | None = None) -> Tensor:
    """Faces uint8 (N, 3, size, size) of the training or the test split.

    Centre crop of 140 x 140 of the 218 x 178 pictures, resized with antialiasing, rounded.

    Raises:
        DataMissing: neither folder nor archive, or no list of the split.
        DataCorrupt: a split of another content, a picture that is listed but absent or unreadable.
    """
    top = data_root(root) / "celeba"
    names = split_names(top, train)
    images = torch.empty(len(names), 3, size, size, dtype=torch.uint8)
    for index, content in enumerate(_pictures(top, names)):
        images[index] = _face(content, size, names[index])
    return images


def split_names(top: Path, train: bool) -> list[str]:
    """File names of a split, 0 = train, 2 = test, in the published order."""
    path = top / SPLIT
    if not path.is_file():
        raise DataMissing(
            f"celeba: put {SPLIT} and {ARCHIVE} (or its unpacked folder) into {top.absolute()}"
            f"{origin('celeba')}"
        )
    content = path.read_bytes()
    rows = [line.split() for line in content.decode().splitlines() if line.strip()]
    names = [name for name, part in rows if part == ("0" if train else "2")]
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if len(rows) > 100_000 and digest != SPLIT_MD5:
        raise DataCorrupt(f"{path} is not the published split (md5 {digest}, not {SPLIT_MD5})")
    if not names:
        raise DataCorrupt(f"{path} lists no {'training' if train else 'test'} pictures")
    return names


def _pictures(top: Path, names: list[str]) -> Iterator[bytes]:
    folder, archive = top / FOLDER, top / ARCHIVE
    if folder.is_dir():
        for name in names:
            path = folder / name
            if not path.is_file():
                raise DataCorrupt(f"{path} is listed in {SPLIT} but absent: unpack {ARCHIVE} again")
            yield path.read_bytes()
    elif archive.is_file():
        try:
            with zipfile.ZipFile(archive) as opened:
                for name in names:
                    yield opened.read(f"{FOLDER}/{name}")
        except (zipfile.BadZipFile, KeyError, OSError) as error:
            raise DataCorrupt(f"{archive} cannot be read ({error}): fetch it again") from error
    else:
        raise DataMissing(
            f"celeba: put {ARCHIVE} or the folder {FOLDER} into {top.absolute()}{origin('celeba')}"
        )


def _face(content: bytes, size: int, name: str) -> Tensor:
    return square(io.BytesIO(content), size, CROP, f"celeba: {name}")


def verify(root: str | Path | None = None) -> str:
    """Read the lists and the first picture of each split."""
    top = data_root(root) / "celeba"
    counts = []
    for train in (True, False):
        names = split_names(top, train)
        _face(next(_pictures(top, names[:1])), 64, names[0])
        counts.append(f"{len(names)} pictures")
    return ", ".join(counts)
