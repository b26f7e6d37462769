"""``jumpbench data NAME=PATH``: a folder or a file at any place."""

import gzip
import struct

import pytest

from jumpbench.cli.main import main
from jumpbench.data import mnist
from jumpbench.data.catalog import datasets
from jumpbench.data.places import verify_at
from jumpbench.errors import DataCorrupt, DataMissing, UserError


def idx(*sizes):
    count = 1
    for size in sizes:
        count *= size
    return b"\0\0\x08" + bytes([len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + bytes(count)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of digits with other checksums than MNIST's, which are known for this test."""
    import hashlib

    folder = tmp_path / "anywhere"
    folder.mkdir()
    monkeypatch.setattr("jumpbench.data.mnist.FILES", dict(mnist.FILES))
    for i, name in enumerate(mnist.MD5):
        content = idx(3 + i, 28, 28) if "images" in name else idx(3 + i - 1)
        monkeypatch.setitem(mnist.MD5, name, hashlib.md5(content).hexdigest())
        known = mnist.DataFile(name, (mnist.MD5[name],), urls=("http://127.0.0.1:9/x",))
        monkeypatch.setitem(mnist.FILES, name, known)
        (folder / name).write_bytes(content)
    mnist._load.cache_clear()
    yield folder
    mnist._load.cache_clear()


def test_a_folder_is_verified_where_it_lies(files, capsys):
    assert main(["data", f"mnist={files}"]) == 0
    assert "3 images, 5 images" in capsys.readouterr().out
    (files / "t10k-images-idx3-ubyte").unlink()
    before = sorted(files.iterdir())
    with pytest.raises(DataMissing, match="t10k-images"):
        verify_at(datasets()["mnist"], files)
    assert sorted(files.iterdir()) == before  # nothing was fetched into it


def test_a_file_is_known_by_its_content_under_any_name(files, tmp_path, capsys):
    other = tmp_path / "other.gz"
    other.write_bytes(gzip.compress((files / "train-images-idx3-ubyte").read_bytes()))
    assert main(["data", f"mnist={other}"]) == 0
    assert f"{other} is train-images-idx3-ubyte: verified" in capsys.readouterr().out
    other.write_bytes(gzip.compress(b"something else"))
    assert main(["data", f"mnist={other}"]) == 1
    assert "is none of train-images-idx3-ubyte" in capsys.readouterr().out


def test_the_one_file_of_a_dataset_may_have_any_name(tmp_path):
    (tmp_path / "weights").write_bytes(b"others")
    with pytest.raises(DataCorrupt, match="not the published file"):
        verify_at(datasets()["vgg16"], tmp_path / "weights")


def test_what_is_not_there_or_misspelled_is_told(tmp_path, capsys):
    with pytest.raises(UserError, match="there is nothing"):
        verify_at(datasets()["mnist"], tmp_path / "absent")
    assert main(["data", f"mnits={tmp_path}"]) == 2
    assert "did you mean 'mnist'" in capsys.readouterr().err
    assert main(["data", "mnist="]) == 2
    capsys.readouterr()
    assert main(["data", f"mnist={tmp_path}", f"mnist={tmp_path / 'absent'}"]) == 1
    said = capsys.readouterr().out.replace("\n", "")
    assert (
        f"missing: mnist: put train-images-idx3-ubyte (loose, .gz or .xz) into {tmp_path};" in said
    )
    assert f"missing: mnist={tmp_path / 'absent'}: there is nothing" in said
