"""Datasets that are published in another form than is read: fetched, converted, with checksums.

Only by name (``jumpbench data gosai``), as the archives are large. A download that broke off goes
on where it was. Of what was written the sha256 stands beside it, in ``checksums.sha256``, and is
compared at every later verification; it says what was fetched, not what was published.
"""

import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from jumpbench.data.downloads import BLOCK, resumed
from jumpbench.data.files import check
from jumpbench.errors import DataCorrupt, DataMissing
from jumpbench.paths import data_root

CHECKSUMS = "checksums.sha256"
Told = Callable[[str, int, int | None], None]
"""Is told a file, its bytes so far, and all of its bytes where the server says how many."""


@dataclass(frozen=True)
class Published:
    """One file to fetch.

    ``md5`` is that of the file as published, where it is known. ``members``: of a zip archive, what
    is kept {name: end of its path inside}; the archive itself is not kept then. ``convert``: what
    is kept is written by it, from the file as it was.
    """

    url: str
    file: str
    md5: str = ""
    members: Mapping[str, str] = field(default_factory=dict)
    convert: Callable[[Path], None] | None = None


def _rolls(path: Path) -> None:
    """Piano rolls as plain bytes: (n, 256), 0 to 128.

    Raises:
        DataCorrupt: something else.
    """
    try:
        rolls = np.load(path, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise DataCorrupt(f"{path.name} is no plain array ({error})") from None
    if rolls.ndim != 2 or rolls.shape[1] != 256 or rolls.min() < 0 or rolls.max() > 128:
        raise DataCorrupt(f"{path.name} holds no melodies: {rolls.shape}, {rolls.dtype}")
    if (rolls != rolls.astype(np.uint8)).any():
        raise DataCorrupt(f"{path.name} has values that are no whole numbers")
    with path.open("wb") as file:
        np.save(file, rolls.astype(np.uint8))


def _celeba() -> list[Published]:
    """Pictures and split of CelebA, where torchvision fetches them, with its checksums."""
    from torchvision.datasets import CelebA

    address = "https://drive.usercontent.google.com/download?id={}&export=download&confirm=t"
    wanted = ("img_align_celeba.zip", "list_eval_partition.txt")
    return [Published(address.format(i), f, md5) for i, md5, f in CelebA.file_list if f in wanted]


def sources() -> dict[str, list[Published]]:
    """What is fetched for each dataset."""
    table = "data_and_model/mdlm/gosai_data/"
    drakes = (
        "https://www.dropbox.com/scl/fi/zi6egfppp0o78gr0tmbb1/DRAKES_data.zip"
        "?rlkey=yf7w0pm64tlypwsewqc01wmfq&dl=1"
    )
    tauldr = "https://www.dropbox.com/scl/fo/zmwsav82kgqtc0tzgpj3l/h?rlkey=k6d2bp73k4ifavcg9ldjhgu0s&dl=1"
    toronto = "http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/"
    enhancers = {
        "gosai_all.csv": f"{table}processed_data/gosai_all.csv",
        "dataset.csv.gz": f"{table}dataset.csv.gz",
    }
    rolls = {"train.npy": "train.npy", "test.npy": "test.npy"}
    return {
        "gosai": [Published(drakes, "DRAKES_data.zip", members=enhancers)],
        "lakh_pianoroll": [Published(tauldr, "tauLDR.zip", members=rolls, convert=_rolls)],
        "celeba": _celeba(),
        "binarized_mnist": [
            Published(f"{toronto}{name}", name)
            for name in (f"binarized_mnist_{s}.amat" for s in ("train", "valid", "test"))
        ],
    }


def fetch(dataset: str, root: str | Path | None = None, told: Told = lambda *_: None) -> list[str]:
    """Fetch what is not there, convert it, and note its checksums; the names of what was written.

    Raises:
        DataMissing: an address does not answer, or the folder cannot be written.
        DataCorrupt: what it sent is not what is published there.
    """
    from filelock import FileLock

    folder = data_root(root) / dataset
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".fetching.lock"):
            written = [name for one in sources()[dataset] for name in _fetched(one, folder, told)]
            known = _known(folder) | {name: _sha256(folder / name) for name in written}
            lines = [f"{digest}  {name}\n" for name, digest in sorted(known.items())]
            (folder / CHECKSUMS).write_text("".join(lines))
        return written
    except PermissionError as error:
        raise DataMissing(f"{dataset}: {folder.absolute()} cannot be written ({error})") from None


def confirm(dataset: str, root: str | Path | None = None) -> str:
    """Compare what was fetched with its checksums; a word about it, empty if nothing was.

    Raises:
        DataCorrupt: a file has changed since.
    """
    folder = data_root(root) / dataset
    there = {name: d for name, d in _known(folder).items() if (folder / name).is_file()}
    for name, digest in there.items():
        if _sha256(folder / name) != digest:
            raise DataCorrupt(f"{folder / name} has changed since it was fetched; delete it")
    return f"; {len(there)} files as fetched ({CHECKSUMS})" if there else ""


def _fetched(source: Published, folder: Path, told: Told) -> list[str]:
    """What is written of one source, by name; nothing if it is all there."""
    kept = [*source.members] or [source.file]
    if all((folder / name).is_file() for name in kept):
        return []
    target = folder / source.file
    if not target.is_file():
        resumed(source.url, target, lambda done, total: told(source.file, done, total))
    try:
        if source.md5:
            check(target.read_bytes(), (source.md5,), target)
        if source.members:
            _unpacked(target, source, folder)
    except DataCorrupt:
        target.unlink()  # such as a page in the place of the file
        raise
    if source.members:
        target.unlink()
    return kept


def _unpacked(archive: Path, source: Published, folder: Path) -> None:
    """Members of an archive under their names here, converted; each is whole or absent."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for name, end in source.members.items():
                part = folder / f"{name}.part"
                ends = PurePosixPath(end).parts
                named = ((m, PurePosixPath(m).parts) for m in opened.namelist())
                found = [member for member, parts in named if parts[-len(ends) :] == ends]
                if len(found) != 1:
                    raise DataCorrupt(f"{source.url}: {len(found)} files in it are called {end}")
                with opened.open(found[0]) as packed, part.open("wb") as file:
                    shutil.copyfileobj(packed, file, BLOCK)
                if source.convert:
                    source.convert(part)
                os.replace(part, folder / name)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataCorrupt(f"{source.url} sent no whole zip archive ({error})") from None
    finally:
        for name in source.members:
            (folder / f"{name}.part").unlink(missing_ok=True)


def _known(folder: Path) -> dict[str, str]:
    path = folder / CHECKSUMS
    lines = path.read_text().splitlines() if path.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
