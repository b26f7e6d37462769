"""The report page: what it holds, and its server."""

import base64
import csv
import http.client
import itertools
import json
import os
import re
import shutil
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
import torch

from jumpbench.cli.main import main
from jumpbench.paths import SAMPLES
from jumpbench.tables.commands import page_server, report_page
from jumpbench.tables.views import runpictures, samplesheets
from jumpbench.tables.views.embedded import is_chart


@pytest.fixture
def toy_page(project, monkeypatch):
    """A page of the toy tables alone, made again at every call."""
    monkeypatch.setattr(report_page, "shown", lambda: ["toy/coins"])

    def page() -> str:
        assert main(["report"]) == 0
        return (project / "outputs/report/index.html").read_text()

    return page


def contents(page: str) -> list[dict]:
    """What each table of the page carries, its cells with their names."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    read = [json.loads(text) for text in found]
    for own in read:
        own["cells"] = [
            dict(zip(own["kinds"][kind], values, strict=True)) for kind, *values in own["cells"]
        ]
    return read


def test_the_page_stands_alone_and_knows_where_numbers_come_from(project, toy_page):
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("figures: []\n", ""))
    assert main(["table", "toy/coins", "scale=small"]) == 0
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=small"]) == 0
    page = toy_page()
    links = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert links and all(link.startswith("data:") for link in links)  # nothing outside
    labels = re.findall(r'<article data-label="(.*?)"', page)
    assert labels == ["small", "small, recorded", "smoke"]  # what says most comes first
    assert page.count("data:image/png") >= 2  # bars at both scales
    assert page.count("data-bars") == 1  # and of the record, for which nothing is drawn
    folder = project / "outputs/tables/toy/coins/small/figures"
    assert (folder / "results.png").is_file() and (folder / "results.pdf").is_file()
    assert not (project / "outputs/report/figures").exists()
    own = contents(page)[0]
    record = json.loads((folder.parent / "table.json").read_text())
    place = own["places"].index("rows=fair 'columns=small n'")
    fair = next(c for c in own["cells"] if c["place"] == place)
    assert [seed for seed, _, _ in fair["values"]] == [0, 1] and fair["paper"] == 0.5
    assert fair["measured"] == pytest.approx(record["cells"][0]["measured"], rel=1e-6)
    made = own["runs"][fair["values"][0][2]]
    assert made["run"] == record["cells"][0]["values"][0]["run"]
    assert made["took"].endswith("GB") and "torch" in made["versions"]
    assert own["command"].endswith("toy/coins scale=small")
    single = [cell for cell in contents(page)[2]["cells"] if len(cell["values"]) == 1]
    assert single and not any("measured" in cell for cell in single)  # said by the value


def labels(page: str) -> list[str]:
    return re.findall(r'<article data-label="(.*?)"', page)


def test_what_is_whole_stands_before_what_is_a_part(project, toy_page):
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert main(["table", "toy/coins", "scale=small"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=small"]) == 0
    assert main(["table", "toy/coins", "scale=paper", "rows=walk"]) == 0  # 1 of 5 cells
    assert labels(toy_page()) == ["small", "small, recorded", "paper", "smoke"]
    (project / "outputs/tables/toy/coins/small/table.json").unlink()
    shutil.rmtree(project / "outputs/runs")
    walk = ["table", "toy/coins", "scale=small", "rows=walk"]
    assert main(walk) == 0  # a part, where the whole is recorded
    assert labels(toy_page()) == ["small, recorded", "paper", "small", "smoke"]


def test_a_run_shows_its_learning_curve_and_samples(project, toy_page):
    often = "++trainer.log_every_n_steps=5"
    assert main(["table", "toy/coins", "scale=smoke", "rows=walk", often]) == 0
    (walk,) = (project / "outputs/runs/toy").glob("walk-*")
    with (walk / "training/metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    name, points = runpictures.learning_curve(walk)
    assert name == "train/loss" and len(points) > 1
    assert points[-1] == (float(rows[-1]["step"]), float(rows[-1]["train/loss"]))
    page = toy_page()
    assert "Learning curves" in page and f"{points[-1][1]:.3g}, {points[-1][0]:.0f} steps" in page
    assert 'alt="samples of walk * (small n)"' in page


def test_a_long_curve_is_thinned_and_odd_values_are_left_out(tmp_path):
    folder = tmp_path / "training"
    folder.mkdir()
    lines = [f"{i},{1 / i}" for i in range(1, 1001)] + ["1001,nan", "x,1", "1002,"]
    (folder / "metrics.csv").write_text("step,train/loss\n" + "\n".join(lines))
    _, points = runpictures.learning_curve(tmp_path)
    assert len(points) <= runpictures.POINTS + 1 and points[-1] == (1000.0, 0.001)
    (folder / "metrics.csv").write_text("step,train/loss\n1,2\n")
    assert runpictures.learning_curve(tmp_path) is None


@pytest.mark.parametrize(
    ("shape", "size"),
    # 32 lines of three; 16 lattices across and images in one line, as large as 320 x 160 takes
    [((40, 10), (96, 10)), ((40, 36), (32, 256)), ((5, 1, 4, 6), (48, 320)),
     ((5, 3, 4, 6), (48, 320))],
)  # fmt: skip
def test_samples_are_drawn_as_sequences_lattices_or_images(tmp_path, shape, size):
    from PIL import Image

    torch.save({"samples": torch.randint(0, 3, shape)}, tmp_path / SAMPLES)
    picture = samplesheets.samples_picture(tmp_path)
    pixels = np.asarray(Image.open(picture))
    assert pixels.shape[:2] == size and pixels.min() == 0 and pixels.max() == 255
    assert pixels.ndim == (3 if shape[1:2] == (3,) else 2)
    (tmp_path / SAMPLES).write_bytes(b"damaged")
    os.utime(picture, (1, 1))
    assert samplesheets.samples_picture(tmp_path) is None


def test_the_server_follows_a_running_table(project, toy_page):
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    serving = page_server.server(0)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    at = f"http://127.0.0.1:{serving.server_port}"

    def get(path: str) -> str:
        return urllib.request.urlopen(f"{at}{path}", timeout=60).read().decode()

    try:
        page, before = get("/"), get("/changed")
        assert f'data-stamp="{before}"' in page and "2 of 5 cells measured" in page
        assert main(["table", "toy/coins", "scale=smoke", "rows=biased"]) == 0
        assert get("/changed") != before and "4 of 5 cells measured" in get("/")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get("/../../etc/passwd")
    finally:
        serving.shutdown()
        serving.server_close()


NAMES = {
    "127.0.0.1:8765": 200, "localhost:9000": 200, "LocalHost": 200, "evil.example": 403,
    "evil.example:8765": 403, "127.0.0.1.evil.example": 403, "": 403, None: 403,
}  # fmt: skip


def test_the_server_answers_under_its_own_name_only(project, toy_page):
    """A page of another site may have its own name lead to 127.0.0.1 (DNS rebinding)."""
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    answers = {}
    with page_server.server(0) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        for path, host in itertools.product(("/", "/changed"), NAMES):
            connection = http.client.HTTPConnection("127.0.0.1", serving.server_port, timeout=60)
            connection.putrequest("GET", path, skip_host=True)
            if host is not None:
                connection.putheader("Host", host)
            connection.endheaders()
            answers[path, host] = connection.getresponse().status
            connection.close()
        serving.shutdown()
    assert answers == {(path, host): NAMES[host] for path, host in answers}


SECRET = b"a secret of this machine"


def leaked(page: str) -> bool:
    return base64.b64encode(SECRET).decode()[:24] in page or SECRET.decode() in page


@pytest.mark.parametrize("kind", ["file", "picture", "folder", "above", "drawn", "no picture"])
def test_a_link_to_a_file_elsewhere_is_not_put_into_the_page(
    project, toy_page, tmp_path_factory, kind
):
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("figures: []\n", ""))
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    figures = project / "outputs/tables/toy/coins/smoke/figures"
    own = (figures / "results.png").read_bytes()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    secret = own[:9] + SECRET if kind in ("picture", "folder", "above") else SECRET
    (elsewhere / "leak.png").write_bytes(secret)
    if kind in ("file", "picture"):
        (figures / "leak.png").symlink_to(elsewhere / "leak.png")
    elif kind == "folder":
        figures.rename(figures.with_name("moved"))
        figures.symlink_to(elsewhere)
    elif kind == "above":
        scale = figures.parent
        (elsewhere / "small/figures").mkdir(parents=True)
        (elsewhere / "leak.png").rename(elsewhere / "small/figures/leak.png")
        (elsewhere / "small/table.json").write_text((scale / "table.json").read_text())
        scale.with_name("small").symlink_to(elsewhere / "small")
    elif kind == "drawn":
        stamp = json.loads((figures / "drawn.json").read_text())
        stamp["paths"] = [str(elsewhere / "leak.png")]
        (figures / "drawn.json").write_text(json.dumps(stamp))
        (elsewhere / "leak.pdf").touch()
        (figures / "results.png").unlink()
    else:
        (figures / "leak.png").write_bytes(SECRET)
    page = toy_page()
    assert not leaked(page) and "coins" in page
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert not leaked((figures.parent / "table.html").read_text())


def test_no_figure_is_written_through_a_link(project, tmp_path_factory):
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("figures: []\n", ""))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "profile").write_bytes(SECRET)
    figures = project / "outputs/tables/toy/coins/smoke/figures"
    figures.mkdir(parents=True)
    (figures / "results.png").symlink_to(elsewhere / "profile")
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert (elsewhere / "profile").read_bytes() == SECRET
    assert not (figures / "results.png").is_symlink()
    for file in figures.iterdir():
        file.unlink()
    figures.rmdir()
    figures.symlink_to(elsewhere)
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert [file.name for file in elsewhere.iterdir()] == ["profile"]


def test_the_id_of_a_run_leads_to_no_other_folder(project, toy_page):
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    (coin,) = list((project / "outputs/runs/toy").glob("coin-*"))[:1]
    there = project / "elsewhere/x-1"
    shutil.copytree(coin, there)
    made = json.loads((there / "provenance.json").read_text())
    (there / "provenance.json").write_text(json.dumps({**made, "finished": SECRET.decode()}))
    file = project / "outputs/tables/toy/coins/smoke/table.json"
    for run in ("../../elsewhere/x-1", "/etc", "toy/..", "../x", "a/b/c", 3, None):
        content = json.loads(file.read_text())
        for value in (v for cell in content["cells"] for v in cell["values"]):
            value["run"] = run
        file.write_text(json.dumps(content))
        assert not leaked(toy_page()), run
        assert not (there / "figures").exists(), run


@pytest.mark.slow
def test_the_page_of_all_records_is_small_without_its_pictures(project, monkeypatch, capsys):
    """At most 2.6 MB; and it says that it works."""
    monkeypatch.setattr(report_page, "TOLD_SECONDS", 0.0)
    assert main(["report"]) == 0
    told = capsys.readouterr().err.splitlines()
    count = re.fullmatch(r"report: (\d+) tables", told[0])[1]
    assert f"report: 1 of {count} tables" in told
    page = (project / "outputs/report/index.html").read_text()
    without = re.sub(r'src="data:[^"]*"', "", page)
    assert len(page) > len(without) and len(without.encode()) <= 2.6e6


def test_charts_are_inverted_on_a_dark_page_and_photographs_are_not(tmp_path):
    from PIL import Image, ImageDraw

    white = Image.new("RGB", (200, 100), "white")
    ImageDraw.Draw(white).line((0, 0, 199, 99), "blue", 3)
    white.save(tmp_path / "chart.png")
    Image.effect_noise((200, 100), 80).save(tmp_path / "photo.png")
    (tmp_path / "damaged.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    names = ("chart", "photo", "damaged", "absent")
    assert [is_chart(tmp_path / f"{name}.png") for name in names] == [True, False, False, False]
