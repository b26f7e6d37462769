"""Larochelle's bits: text and MATLAB files, and what is wrong with them."""

import io

import numpy as np
import pytest
from scipy.io import savemat

from jumpbench.data import larochelle
from jumpbench.data.larochelle import LarochelleMnist, load_bits
from jumpbench.errors import DataCorrupt, UserError
from support import needs_data

BITS = (np.random.default_rng(0).random((9, 784)) < 0.1).astype(np.uint8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(larochelle, "SIZES", dict.fromkeys(("train", "valid", "test"), 9))
    (tmp_path / "binarized_mnist").mkdir()
    return tmp_path


def write(folder, content, split="train"):
    (folder / f"binarized_mnist/binarized_mnist_{split}.amat").write_bytes(content)


def text(bits):
    return "\n".join(" ".join(map(str, row)) for row in bits.tolist()).encode() + b"\n"


def test_text_is_read_and_padded(folder):
    write(folder, text(BITS))
    data = LarochelleMnist(32, root=folder, train_batch_size=3, n_samples=3)
    states = data.load("train")["states"].view(9, 32, 32)
    assert (states[:, 2:-2, 2:-2].reshape(9, 784).numpy() == BITS).all()
    assert states.sum() == BITS.sum() and data.length == 1024 and data.n_states == 2


def test_a_matrix_is_the_known_copy_or_refused(folder, monkeypatch):
    import hashlib

    buffer = io.BytesIO()
    savemat(buffer, {"x": BITS})
    write(folder, buffer.getvalue())
    with pytest.raises(DataCorrupt, match="not the published file"):
        load_bits("train", folder)
    digest = hashlib.md5(BITS.tobytes()).hexdigest()
    monkeypatch.setitem(larochelle.BITS_MD5, "train", digest)
    assert (load_bits("train", folder).numpy() == BITS).all()


@pytest.mark.parametrize(
    "content", [b"0 1 2", b"MATLAB 5.0 but no more", text(BITS)[:-2], b"", text(BITS[:8])]
)
def test_what_is_no_file_of_bits_is_refused(folder, content):
    write(folder, content)
    with pytest.raises(DataCorrupt, match="binarized_mnist_train"):
        load_bits("train", folder)


def test_a_side_that_there_is_not_is_refused():
    with pytest.raises(UserError, match="28 or 32"):
        LarochelleMnist(16)


@needs_data("binarized_mnist")
def test_the_known_copy_is_verified():
    assert larochelle.verify() == "50000 train, 10000 valid, 10000 test"
