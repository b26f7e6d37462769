"""Finding, verifying and fetching dataset files."""

import gzip
import hashlib
import lzma
import os
import tarfile
import zipfile
from pathlib import Path
from urllib.error import URLError

import pytest

from jumpbench.data.files import DataFile, download, find, read
from jumpbench.errors import DataCorrupt, DataMissing
from jumpbench.paths import data_root, suite_root

CONTENT = b"what was published\n" * 20
MD5 = hashlib.md5(CONTENT).hexdigest()
FILE = DataFile(
    "table.txt",
    (MD5,),
    also=("elsewhere/table",),
    archives=(("set/all.tar.gz", "inner/table.txt"), ("set/all.zip", "inner/table.txt")),
)


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_root_is_argument_then_environment_then_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_DATA", str(tmp_path))
    assert data_root() == tmp_path
    assert data_root(tmp_path / "x") == tmp_path / "x"
    monkeypatch.delenv("JUMPBENCH_DATA")
    monkeypatch.chdir(tmp_path)
    assert data_root() == suite_root() / "data"  # of the checkout, wherever the call is made


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("set/table.txt", lambda c: c),
        ("set/table.txt.gz", gzip.compress),
        ("set/table.txt.xz", lzma.compress),
        ("elsewhere/table.gz", gzip.compress),
    ],
)
def test_reads_loose_and_compressed(tmp_path, name, pack):
    put(tmp_path / name, pack(CONTENT))
    assert read("set", FILE, tmp_path) == CONTENT


def test_reads_archives(tmp_path):
    put(tmp_path / "inner" / "table.txt", CONTENT)
    (tmp_path / "set").mkdir()
    with tarfile.open(tmp_path / "set" / "all.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "inner" / "table.txt", "inner/table.txt")
    assert read("set", FILE, tmp_path) == CONTENT
    (tmp_path / "set" / "all.tar.gz").unlink()
    with zipfile.ZipFile(tmp_path / "set" / "all.zip", "w") as archive:
        archive.write(tmp_path / "inner" / "table.txt", "other.txt")
    with pytest.raises(DataCorrupt, match=r"does not hold inner/table\.txt"):
        read("set", FILE, tmp_path)


def test_wrong_content_names_file_and_checksums(tmp_path):
    put(tmp_path / "set" / "table.txt", CONTENT + b"!")
    with pytest.raises(DataCorrupt, match=f"table.txt is not the published file.*not {MD5}"):
        read("set", FILE, tmp_path)


def test_truncated_compression(tmp_path):
    put(tmp_path / "set" / "table.txt.gz", gzip.compress(CONTENT)[:-9])
    with pytest.raises(DataCorrupt, match=r"table\.txt\.gz cannot be read"):
        read("set", FILE, tmp_path)
    put(tmp_path / "set" / "table.txt.gz", b"not gzip at all")
    with pytest.raises(DataCorrupt, match="cannot be read"):
        read("set", FILE, tmp_path)


def test_missing_says_what_to_put_where(tmp_path):
    with pytest.raises(DataMissing, match=rf"put table\.txt .* into {tmp_path}/set, or set/all"):
        read("set", FILE, tmp_path)
    with pytest.raises(DataMissing, match=rf"put a or b .* into {tmp_path}/set"):
        find("set", ["a", "b"], tmp_path)
    put(tmp_path / "set" / "b.xz", lzma.compress(CONTENT))
    assert find("set", ["a", "b"], tmp_path).name == "b.xz"


def serve(monkeypatch, answers):
    """Stand in for the network: address -> content or error. Returns the list of calls."""
    asked = []

    def fetch(url, target, progress):
        asked.append(url)
        if isinstance(answers[url], Exception):
            raise answers[url]
        put(Path(target), answers[url])

    monkeypatch.setattr("torch.hub.download_url_to_file", fetch)
    return asked


def test_downloads_from_the_first_address_that_answers(tmp_path, monkeypatch):
    file = DataFile("table.txt", (MD5,), urls=("http://a/table.txt.gz", "http://b/table.txt.gz"))
    asked = serve(
        monkeypatch,
        {
            "http://a/table.txt.gz": URLError("down"),
            "http://b/table.txt.gz": gzip.compress(CONTENT),
        },
    )
    assert read("set", file, tmp_path) == CONTENT
    assert read("set", file, tmp_path) == CONTENT
    assert asked == list(file.urls)
    assert sorted(p.name for p in (tmp_path / "set").iterdir()) == ["table.txt.gz"]


def test_download_of_an_archive_keeps_its_name(tmp_path, monkeypatch):
    file = DataFile("table.txt", urls=("http://a/all.tar.gz",), archives=FILE.archives)
    serve(monkeypatch, {"http://a/all.tar.gz": b"whatever"})
    assert download("set", file, tmp_path) == tmp_path / "set" / "all.tar.gz"


def test_no_network_is_data_missing(tmp_path, monkeypatch):
    file = DataFile("table.txt", urls=("http://a/table.txt",))
    serve(monkeypatch, {"http://a/table.txt": URLError("no route")})
    with pytest.raises(DataMissing, match=r"did not answer .*no route"):
        read("set", file, tmp_path)


def test_read_only_root_is_never_written(tmp_path, monkeypatch):
    file = DataFile("table.txt", urls=("http://a/table.txt",))
    asked = serve(monkeypatch, {"http://a/table.txt": CONTENT})
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(DataMissing, match="not writable"):
        read("set", file, tmp_path)
    assert not asked and not list(tmp_path.iterdir())


def test_a_download_that_fails_leaves_no_folder(monkeypatch, tmp_path):
    def no_network(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr("torch.hub.download_url_to_file", no_network)
    with pytest.raises(DataMissing, match="no route"):
        read("mnist", DataFile("a-file", urls=("https://nowhere.invalid/a-file.gz",)), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_dataset_that_is_fetched_by_name_says_so(tmp_path):
    file = DataFile("binarized_mnist_train.amat")
    with pytest.raises(DataMissing, match="`jumpbench data binarized_mnist` fetches it"):
        download("binarized_mnist", file, tmp_path)
