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
from torchvision.datasets import CIFAR10

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
    return pickle.dumps({"labels": part[:, 0].tolist(), "data": part[:, 1:]})


def known_to_torchvision(monkeypatch, contents):
    """torchvision takes these files for the published ones."""
    md5 = {name: hashlib.md5(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(CIFAR10, "train_list", [[name, md5[name]] for name in BATCHES])
    monkeypatch.setattr(CIFAR10, "test_list", [["test_batch", md5["test_batch"]]])
    monkeypatch.setattr(CIFAR10, "meta", CIFAR10.meta | {"md5": md5["batches.meta"]})


def test_order_and_packing_do_not_matter(tmp_path, records, monkeypatch):
    for folder, order in (("a", np.arange(20)), ("b", np.random.default_rng(1).permutation(20))):
        (tmp_path / folder / "cifar10").mkdir(parents=True)
        for name, part in zip(BATCHES, records[order].reshape(5, 4, -1), strict=True):
            content = lzma.compress(part.tobytes())
            (tmp_path / folder / "cifar10" / f"{name}.bin.xz").write_bytes(content)
    contents = {
        name: pickled(part) for name, part in zip(BATCHES, records.reshape(5, 4, -1), strict=True)
    }
    contents |= {
        "test_batch": pickled(records[:1]),
        "batches.meta": pickle.dumps({"label_names": ["cat"]}),
    }
    known_to_torchvision(monkeypatch, contents)
    (tmp_path / "c").mkdir()
    (tmp_path / "d" / "cifar-10-batches-py").mkdir(parents=True)
    with tarfile.open(tmp_path / "c" / cifar10.PYTHON_ARCHIVE, "w:gz") as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            (tmp_path / "d" / "cifar-10-batches-py" / name).write_bytes(content)
    images = [cifar10.load_cifar10(True, tmp_path / folder) for folder in "abcd"]
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
    with pytest.raises(DataCorrupt, match="does not hold the published files"):
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
def test_the_real_tensors_are_the_recorded_ones():
    """md5 of pixels and labels as they were before torchvision read a part of the sources."""
    for train, size, expected in (
        (True, 50000, ("417835ca7826858e0e20ec373a5f781b", "8d95c489a363a78021b65e9110a331e3")),
        (False, 10000, ("fbd3322f17579867905a7fe69e4eedf2", "3cdfa656fdf9dd8a342971c6c0d30226")),
    ):
        images, labels = cifar10.load_cifar10(train)
        assert images.shape == (size, 3, 32, 32) and images.dtype == torch.uint8
        assert labels.bincount().tolist() == [size // 10] * 10
        assert tuple(hashlib.md5(x.numpy()).hexdigest() for x in (images, labels)) == expected
