"""Where dataset files lie, and what they must contain.

A file is found under any of its names, loose, compressed (``.gz``, ``.xz``) or inside a published
archive, and is known by the md5 of its *unpacked* content: an archive packed again has another
checksum, its content does not. Nothing is ever written into a root that is read-only.
"""

import contextlib
import gzip
import hashlib
import lzma
import os
import socket
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpbench.data.catalog import datasets
from jumpbench.errors import DataCorrupt, DataMissing
from jumpbench.paths import data_root

SUFFIXES = ("", ".gz", ".xz")
DOWNLOAD_TIMEOUT_SECONDS = 30.0
FETCHED = ("gosai", "lakh_pianoroll", "celeba", "binarized_mnist")
"""Datasets of large files, which ``jumpbench data NAME`` alone fetches."""


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset, named without a compression suffix.

    ``md5`` lists the accepted checksums of the unpacked content (empty: not checked here),
    ``also`` other names, relative to the root, under which the same content is published,
    ``archives`` pairs (archive relative to the root, member), and ``urls`` where to fetch it.
    """

    name: str
    md5: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    archives: tuple[tuple[str, str], ...] = ()
    urls: tuple[str, ...] = ()


def find(dataset: str, candidates: Sequence[str], root: str | Path | None = None) -> Path:
    """First existing file among ``candidates`` in the dataset's folder, compressed or not.

    Raises :class:`DataMissing`, naming the files that would do and the folder they belong in.
    """
    folder = data_root(root) / dataset
    for name in candidates:
        for suffix in SUFFIXES:
            if (folder / f"{name}{suffix}").is_file():
                return folder / f"{name}{suffix}"
    raise DataMissing(
        f"{dataset}: put {' or '.join(candidates)} (loose, .gz or .xz) into {folder.absolute()}, "
        f"or set JUMPBENCH_DATA to the folder that holds {dataset}/{origin(dataset)}"
    )


def origin(dataset: str) -> str:
    """``; it comes from ADDRESS``: where the catalogue says that a dataset is published."""
    known = datasets().get(dataset)
    return f"; it comes from {known.source}" if known else ""


def unpack(path: Path) -> bytes:
    """Content of ``path``, decompressed according to its suffix."""
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
    opener = openers.get(path.suffix, open)
    try:
        with opener(path, "rb") as stream:
            return stream.read()
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataCorrupt(
            f"{path} cannot be read ({error}): delete it and fetch it again"
        ) from error


def unpack_member(archive: Path, member: str) -> bytes | None:
    """A member of a tar (any compression) or zip archive; None if it has none such."""
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as opened:
                return opened.read(member) if member in opened.namelist() else None
        with tarfile.open(archive) as opened:
            try:
                stream = opened.extractfile(member)
            except KeyError:
                return None
            return stream.read() if stream is not None else None
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        raise DataCorrupt(
            f"{archive} cannot be read ({error}): delete it and fetch it again"
        ) from error


def check(content: bytes, md5: Sequence[str], where: str | Path) -> bytes:
    """``content`` if its md5 is accepted (or none is stated). Raises :class:`DataCorrupt`."""
    if md5:
        digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if digest not in md5:
            raise DataCorrupt(
                f"{where} is not the published file: its unpacked content has md5 {digest}, "
                f"not {' or '.join(md5)}; delete it and fetch it again"
            )
    return content


def located(dataset: str, file: DataFile, root: str | Path | None = None) -> Path | None:
    """The path of the file, or of an archive that holds it; None where there is neither."""
    top = data_root(root)
    names = (f"{dataset}/{file.name}", *file.also)
    for name in names:
        for suffix in SUFFIXES:
            if (top / f"{name}{suffix}").is_file():
                return top / f"{name}{suffix}"
    return next((top / archive for archive, _ in file.archives if (top / archive).is_file()), None)


def read(dataset: str, file: DataFile, root: str | Path | None = None) -> bytes:
    """The verified, unpacked content; downloaded first if it is absent and the network allows it.

    Raises :class:`DataMissing` or :class:`DataCorrupt`.
    """
    path = located(dataset, file, root) or download(dataset, file, root)
    members = {data_root(root) / archive: member for archive, member in file.archives}
    if path not in members:
        return check(unpack(path), file.md5, path)
    content = unpack_member(path, members[path])
    if content is None:
        raise DataCorrupt(f"{path} does not hold {members[path]}: delete it and fetch it again")
    return check(content, file.md5, f"{path}:{members[path]}")


def download(dataset: str, file: DataFile, root: str | Path | None = None) -> Path:
    """Fetch the file from the first address that answers into the dataset's folder.

    An address that ends like an archive of ``file.archives`` is stored under that name. Raises
    :class:`DataMissing` where the root cannot be written, no address is known or none answers.
    """
    from filelock import FileLock
    from torch.hub import download_url_to_file

    top = data_root(root)
    folder = top / dataset
    by_name = f"`jumpbench data {dataset}` fetches it"
    reason = by_name if dataset in FETCHED else "nothing here fetches it"
    for url in file.urls if _fetches and _writable(folder) else ():
        target = _target(top, folder, file, url)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Two processes of a node that start together fetch one copy.
            with FileLock(f"{target}.lock"), socket_timeout(DOWNLOAD_TIMEOUT_SECONDS):
                if not target.is_file():
                    download_url_to_file(url, str(target), progress=False)
            return target
        except OSError as error:
            reason = f"{url} did not answer ({error})"
        finally:
            Path(f"{target}.lock").unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # a folder that nothing came into
                target.parent.rmdir()
    if not _writable(folder):
        reason = "that folder is not writable, so nothing was downloaded"
    others = "".join(f", or {archive} into {top.absolute()}" for archive, _ in file.archives)
    raise DataMissing(
        f"{dataset}: put {file.name} (loose, .gz or .xz) into {folder.absolute()}{others}; {reason}"
        f"{'' if file.urls else origin(dataset)}"
    )


_fetches = True


@contextmanager
def fetching_nothing() -> Iterator[None]:
    """Within, what is absent is not fetched."""
    global _fetches
    before, _fetches = _fetches, False
    try:
        yield
    finally:
        _fetches = before


def _target(top: Path, folder: Path, file: DataFile, url: str) -> Path:
    """Where the content of ``url`` is stored: the archive it is, or the file and its suffix."""
    for archive, _ in file.archives:
        if url.endswith(Path(archive).name):
            return top / archive
    suffix = next((end for end in SUFFIXES[1:] if url.endswith(end)), "")
    return folder / f"{file.name}{suffix}"


def _writable(folder: Path) -> bool:
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    return os.access(existing, os.W_OK)


@contextmanager
def socket_timeout(seconds: float) -> Iterator[None]:
    """``download_url_to_file`` takes no timeout; a silent firewall must not hang the run."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
