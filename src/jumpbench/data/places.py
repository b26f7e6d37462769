"""Datasets at any place: verified where they lie, as they would be under the data root."""

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from jumpbench.data.catalog import Dataset
from jumpbench.data.files import fetching_nothing, unpack
from jumpbench.errors import DataCorrupt, DataMissing


def verify_at(dataset: Dataset, path: str | Path) -> str:
    """What ``dataset.verify`` says of a folder, or of one file by whatever name, at any place.

    Raises:
        DataMissing, DataCorrupt: as it does; nothing is fetched into that place.
        DataMissing: there is nothing.
    """
    path = Path(path).expanduser().absolute()
    if not path.exists():
        raise DataMissing(f"{dataset.name}={path}: there is nothing")
    if path.is_file() and (md5 := _digests(dataset.name)):
        return _known(path, md5)
    with tempfile.TemporaryDirectory() as root, fetching_nothing():
        folder = Path(root) / dataset.name
        link = folder
        if not path.is_dir():
            folder.mkdir()
            (name,) = dataset.files if len(dataset.files) == 1 else (path.name,)
            link = folder / name
        link.symlink_to(path)
        try:
            return dataset.verify(root)
        except (DataMissing, DataCorrupt) as error:  # it speaks of the folder of links
            words = str(error).replace(str(link), str(path)).replace(str(folder), str(path.parent))
            raise type(error)(words) from None


def _digests(dataset: str) -> Mapping[str, str]:
    """md5 of the unpacked files of a dataset, where each file has its own."""
    from jumpbench.data import celeba, mnist, tsp

    split = {celeba.SPLIT: celeba.SPLIT_MD5}
    return {"mnist": mnist.MD5, "tsp": tsp.MD5, "celeba": split}.get(dataset, {})


def _known(path: Path, md5: Mapping[str, str]) -> str:
    digest = hashlib.md5(unpack(path), usedforsecurity=False).hexdigest()
    for name, known in md5.items():
        if digest == known:
            return f"{path} is {name}: verified"
    raise DataCorrupt(f"{path} is none of {', '.join(md5)}: its unpacked content has md5 {digest}")
