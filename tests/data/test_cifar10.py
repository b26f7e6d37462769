"""CIFAR-10 from any of its sources, checked as a set."""

import hashlib
import io
import lzma
import os
import pickle
import tarfile

import numpy as np
import pytest
import torch

from jumpbench.data import cifar10
from jumpbench.errors import DataCorrupt, DataMissing

BATCHES = [f"data_batch_{i}" for i in range(1, 6)]


@pytest.fixture
def records(monkeypatch):
    """Twenty small-world records, made the published train set for the length of a test."""
    made = np.random.default_rng(0).integers(0, 256, (20, cifar10.RECORD_BYTES), dtype=np.uint8)
    digests = np.array([hashlib.md5(r).digest() for r in made])
    monkeypatch.setitem(cifar10.SETS, "train", (20, cifar10.set_checksum(digests)))
    cifar10._load.cache_clear()
    yield made
    cifar10._load.cache_clear()


def pickled(part):
    return pickle.dumps({b"labels": part[:, 0].tolist(), b"data": part[:, 1:]})


def test_order_and_packing_do_not_matter(tmp_path, records, monkeypatch):
    for folder, order in (("a", np.arange(20)), ("b", np.random.default_rng(1).permutation(20))):
        (tmp_path / folder / "cifar10").mkdir(parents=True)
        for name, part in zip(BATCHES, records[order].reshape(5, 4, -1), strict=True):
            content = lzma.compress(part.tobytes())
            (tmp_path / folder / "cifar10" / f"{name}.bin.xz").write_bytes(content)
    (tmp_path / "c").mkdir()
    with tarfile.open(tmp_path / "c" / cifar10.PYTHON_ARCHIVE, "w:gz") as archive:
        for name, part in zip(BATCHES, records.reshape(5, 4, -1), strict=True):
            content = pickled(part)
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            md5 = hashlib.md5(content).hexdigest()
            file = cifar10.DataFile(name, (md5,), archives=cifar10.PICKLE_FILES[name].archives)
            monkeypatch.setitem(cifar10.PICKLE_FILES, name, file)
    images = [cifar10.load_cifar10(True, tmp_path / folder) for folder in "abc"]
    assert images[0][0].shape == (20, 3, 32, 32)
    for other in images[1:]:
        assert all(torch.equal(x, y) for x, y in zip(images[0], other, strict=True))
    got = {(int(y), bytes(x.numpy().tobytes())) for x, y in zip(*images[0], strict=True)}
    assert got == {(int(r[0]), r[1:].tobytes()) for r in records}


def test_changed_pixel_is_found(tmp_path, records):
    (tmp_path / "cifar10").mkdir()
    changed = records.copy()
    changed[7, 100] ^= 1
    for name, part in zip(BATCHES, changed.reshape(5, 4, -1), strict=True):
        (tmp_path / "cifar10" / f"{name}.bin").write_bytes(part.tobytes())
    with pytest.raises(DataCorrupt, match="not the published set: 20 records"):
        cifar10.load_cifar10(True, tmp_path)


def test_a_foreign_pickle_is_not_opened(tmp_path, records):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name, part in zip(BATCHES, records.reshape(5, 4, -1), strict=True):
        (folder / name).write_bytes(pickled(part))
    with pytest.raises(DataCorrupt, match="data_batch_1 is not the published file"):
        cifar10.load_cifar10(True, tmp_path)


def test_whole_records_only(tmp_path, records):
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "data_batch_1.bin").write_bytes(records.tobytes()[:-5])
    with pytest.raises(DataCorrupt, match="no whole number"):
        cifar10.load_cifar10(True, tmp_path)


def test_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(DataMissing, match=r"data_batch_1\.bin.*cifar-10-binary\.tar\.gz"):
        cifar10.load_cifar10(True, tmp_path)


@pytest.mark.skipif(
    not os.path.isdir(os.path.join(os.environ.get("JUMPBENCH_DATA", "data"), "cifar10")),
    reason="CIFAR-10 is absent",
)
def test_real_test_split():
    images, labels = cifar10.load_cifar10(False)
    assert images.shape == (10000, 3, 32, 32) and images.dtype == torch.uint8
    assert labels.bincount().tolist() == [1000] * 10
