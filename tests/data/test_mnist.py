"""MNIST files and generated digits."""

import os
import struct

import pytest
import torch
from torchvision.datasets import MNIST

from jumpbench.data.files import read
from jumpbench.data.mnist import FILES, generated_digits, load_mnist, parse_idx
from jumpbench.errors import DataCorrupt, DataMissing


def idx(array_bytes, *sizes, magic=b"\0\0\x08"):
    return magic + bytes([len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + array_bytes


def test_parse_idx():
    parsed = parse_idx(idx(bytes(range(12)), 3, 2, 2))
    assert parsed.dtype == torch.uint8
    assert torch.equal(parsed, torch.arange(12, dtype=torch.uint8).view(3, 2, 2))
    with pytest.raises(DataCorrupt, match="holds 11 bytes"):
        parse_idx(idx(bytes(11), 3, 2, 2))
    with pytest.raises(DataCorrupt, match="IDX"):
        parse_idx(idx(bytes(12), 3, 2, 2, magic=b"PK\3"))


def test_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(DataMissing, match="train-images-idx3-ubyte"):
        load_mnist(True, tmp_path)


def test_generated_digits_are_seeded_and_tell_digits_apart():
    images, labels = generated_digits(500)
    again, _ = generated_digits(500)
    assert images.shape == (500, 28, 28) and images.dtype == torch.uint8
    assert torch.equal(images, again) and not torch.equal(images, generated_digits(500, 1)[0])
    assert labels.unique().tolist() == list(range(10))
    # Nearest class mean after centring each digit must do far better than the 10 % of chance.
    centred = torch.stack([centre(image) for image in images])
    means = torch.stack([centred[:300][labels[:300] == d].mean(0) for d in range(10)])
    guess = torch.cdist(centred[300:].flatten(1), means.flatten(1)).argmin(1)
    assert (guess == labels[300:]).float().mean() > 0.9


def centre(image):
    rows, columns = (image > 0).nonzero().float().mean(0).round().int().tolist()
    picture = image.float() / image.max()
    return picture.roll((14 - rows, 14 - columns), (0, 1))


@pytest.mark.skipif(
    not os.path.isdir(os.path.join(os.environ.get("JUMPBENCH_DATA", "data"), "mnist")),
    reason="MNIST is absent",
)
def test_real_mnist_is_torchvisions(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, file in FILES.items():
        (raw / name).write_bytes(read("mnist", file))
    for train, size, first in ((True, 60000, 5), (False, 10000, 7)):
        images, labels = load_mnist(train)
        assert images.shape == (size, 28, 28) and images.dtype == torch.uint8
        assert len(labels) == size and labels[0] == first
        theirs = MNIST(tmp_path, train=train)
        assert torch.equal(images, theirs.data) and torch.equal(labels.long(), theirs.targets)
        loose = load_mnist(train, tmp_path)
        assert torch.equal(images, loose[0]) and torch.equal(labels, loose[1])
