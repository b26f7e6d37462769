"""What is published elsewhere: fetched from a server here, resumed, converted, checked."""

import functools
import hashlib
import http.server
import io
import re
import threading
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from jumpbench.cli.main import main
from jumpbench.data import published
from jumpbench.data.catalog import datasets
from jumpbench.data.downloads import resumed
from jumpbench.data.enhancers import verify_gosai
from jumpbench.data.files import FETCHED
from jumpbench.data.melodies import verify_pianoroll
from jumpbench.data.published import CHECKSUMS, Published, confirm, fetch
from jumpbench.errors import DataCorrupt, DataMissing

LETTERS = np.random.default_rng(0).choice(list("ACGT"), (400, 200))


@pytest.fixture
def server():
    """Serves ``files`` in ranges; ``breaks`` ends each answer after so many bytes of its body."""
    state = SimpleNamespace(files={}, breaks=None, tags={}, asked=[])

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            content = state.files.get(self.path)
            if content is None:
                return self.send_error(404)
            wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            tag = state.tags.get(self.path, '"one"')
            start = int(wanted[1]) if wanted and self.headers.get("If-Range", tag) == tag else 0
            state.asked.append(start)
            if wanted and start >= len(content):
                return self.send_error(416)
            self.send_response(206 if start else 200)
            if start:
                whole = f"bytes {start}-{len(content) - 1}/{len(content)}"
                self.send_header("Content-Range", whole)
            self.send_header("Content-Length", str(len(content) - start))
            if tag:
                self.send_header("ETag", tag)
            self.end_headers()
            self.wfile.write(content[start:][: state.breaks])

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        state.at = f"http://127.0.0.1:{serving.server_port}"
        yield state
        serving.shutdown()


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


def array(values):
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


@pytest.fixture
def instead(monkeypatch, server, tmp_path):
    """The sources with a server of this machine in the place of theirs."""
    known = published.sources()
    monkeypatch.setenv("JUMPBENCH_DATA", str(tmp_path / "data"))

    def put(dataset, **contents):
        made = []
        for one in known[dataset]:
            server.files[f"/{one.file}"] = contents[one.file.replace(".", "_")]
            given = {**vars(one), "url": f"{server.at}/{one.file}", "md5": ""}
            made.append(Published(**given))
        monkeypatch.setattr(published, "sources", lambda: {dataset: made})
        return tmp_path / "data" / dataset

    return put


nothing = functools.partial(lambda *_: None)


def test_a_broken_download_goes_on_where_it_was(server, tmp_path):
    content = bytes(np.random.default_rng(1).integers(0, 256, 1000, dtype=np.uint8))
    server.files["/x"], server.breaks = content, 150
    with pytest.raises(DataMissing, match="call again to go on"):
        resumed(f"{server.at}/x", tmp_path / "x", nothing)
    assert server.asked == [0, 150, 300, 450, 600] and not (tmp_path / "x").exists()
    told = []
    resumed(f"{server.at}/x", tmp_path / "x", lambda *event: told.append(event))
    assert server.asked[5:] == [750, 900]
    assert (tmp_path / "x").read_bytes() == content and told[-1] == (1000, 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("mark", ["", "[]", '{"is": ""}'])
def test_a_damaged_mark_begins_anew(server, tmp_path, mark):
    server.files["/x"], server.breaks = b"a" * 1000, 150
    with pytest.raises(DataMissing):
        resumed(f"{server.at}/x", tmp_path / "x", nothing)
    (tmp_path / "x.part.json").write_text(mark)
    (tmp_path / "x.part").write_bytes(b"z" * 500)
    server.breaks = None
    resumed(f"{server.at}/x", tmp_path / "x", nothing)
    assert (tmp_path / "x").read_bytes() == b"a" * 1000


@pytest.mark.parametrize("tag", ['"one"', ""])
def test_another_file_under_the_same_address_is_fetched_anew(server, tmp_path, tag):
    """By its tag; without tags by its length."""
    server.files["/x"], server.breaks, server.tags["/x"] = b"a" * 1000, 100, tag
    with pytest.raises(DataMissing):
        resumed(f"{server.at}/x", tmp_path / "x", nothing)
    server.files["/x"], server.breaks = b"b" * 900, None
    server.tags["/x"] = tag and '"two"'
    resumed(f"{server.at}/x", tmp_path / "x", nothing)
    assert (tmp_path / "x").read_bytes() == b"b" * 900


def test_an_address_that_does_not_answer_is_named(server, tmp_path):
    with pytest.raises(DataMissing, match=r"/absent answers 404"):
        resumed(f"{server.at}/absent", tmp_path / "x", nothing)
    assert list(tmp_path.iterdir()) == []


def enhancers(chromosome=None):
    head = "seq,hepg2,k562,sknsh" + (",chrom" if chromosome else "")
    rows = [f"{''.join(row)},0.5,0.1,-1{chromosome or ''}" for row in LETTERS]
    return "\n".join([head, *rows]).encode()


def test_enhancers_are_fetched_converted_and_verified_by_the_command(instead, capsys):
    import gzip

    content = zipped(**{
        "DRAKES_data__data_and_model__mdlm__gosai_data__processed_data__gosai_all.csv": enhancers(),
        "DRAKES_data__data_and_model__mdlm__gosai_data__dataset.csv.gz": gzip.compress(
            enhancers(",chr1")
        ),
        "DRAKES_data__data_and_model__mdlm__model.ckpt": b"weights",
    })  # fmt: skip
    folder = instead("gosai", DRAKES_data_zip=content)
    assert main(["data", "gosai"]) == 0
    shown = capsys.readouterr()
    assert "2 files as fetched" in shown.out and "fetching DRAKES_data.zip" in shown.err
    names = {path.name for path in folder.iterdir()} - {".fetching.lock"}
    assert names == {"gosai_all.csv", "dataset.csv.gz", CHECKSUMS}
    assert (folder / "gosai_all.csv").read_bytes() == enhancers()
    lines = dict(line.split("  ")[::-1] for line in (folder / CHECKSUMS).read_text().splitlines())
    digest = hashlib.sha256(enhancers()).hexdigest()
    assert lines["gosai_all.csv"] == digest
    assert "training sequences of the prior" in verify_gosai()
    (folder / "gosai_all.csv").write_bytes(enhancers()[:-1] + b"2")
    assert main(["data", "gosai"]) == 1
    assert "has changed since it was fetched" in capsys.readouterr().out


def test_rolls_become_bytes_and_odd_ones_are_refused(instead, server):
    rolls = np.random.default_rng(2).integers(0, 129, (7, 256))
    content = zipped(a__train_npy=b"", **{
        "data__train.npy": array(rolls), "data__test.npy": array(rolls[:3]),
    })  # fmt: skip
    folder = instead("lakh_pianoroll", tauLDR_zip=content)
    assert fetch("lakh_pianoroll") == ["train.npy", "test.npy"]
    kept = np.load(folder / "train.npy")
    assert kept.dtype == np.uint8 and (kept == rolls).all()
    assert verify_pianoroll() == "7 train, 3 test" and "2 files" in confirm("lakh_pianoroll")
    assert fetch("lakh_pianoroll") == []  # nothing is fetched twice
    for bad in (rolls + 1, rolls[:, :5], rolls + 0.5):
        (folder / "test.npy").unlink(missing_ok=True)
        server.files["/tauLDR.zip"] = zipped(
            **{"x__train.npy": array(rolls), "x__test.npy": array(bad)}
        )
        with pytest.raises(DataCorrupt, match=r"test\.npy"):
            fetch("lakh_pianoroll")
        assert not [p for p in folder.iterdir() if p.suffix in (".part", ".zip")]


def test_a_page_in_the_place_of_an_archive_is_refused_and_not_kept(instead):
    folder = instead("gosai", DRAKES_data_zip=b"<html>quota exceeded</html>")
    with pytest.raises(DataCorrupt, match="no whole zip archive"):
        fetch("gosai")
    assert not [path for path in folder.iterdir() if path.name.startswith("DRAKES")]


def test_pictures_are_checked_by_the_published_md5(instead, monkeypatch, server):
    folder = instead(
        "celeba", img_align_celeba_zip=zipped(x=b"1"), list_eval_partition_txt=b"x 0\n"
    )
    made = published.sources()["celeba"]
    digests = {one.file: one.md5 for one in published._celeba()}
    assert digests["list_eval_partition.txt"] == "d32c9cbf5e040fd4025c592c306e6668"
    wrong = [Published(one.url, one.file, digests[one.file]) for one in made]
    monkeypatch.setattr(published, "sources", lambda: {"celeba": wrong})
    with pytest.raises(DataCorrupt, match="not the published file"):
        fetch("celeba")
    assert not (folder / "img_align_celeba.zip").exists()


def test_what_is_fetched_is_in_the_catalogue():
    assert set(FETCHED) == set(published.sources()) <= set(datasets())
    for name, made in published.sources().items():
        assert all(one.url.startswith("http") for one in made), name
        assert "fetched by name" in datasets()[name].source
