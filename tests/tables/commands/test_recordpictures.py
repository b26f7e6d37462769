"""Pictures beside a record: small, named with digests, shown by RESULTS.md and the page."""

import base64
import dataclasses
import hashlib
import io
import json

import numpy as np
import pytest
import torch
from PIL import Image

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.paths import SAMPLES, checkout, suite_root
from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.commands.recordpictures import pictures_of
from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.runs.store import write_config
from jumpbench.tables.views import runpictures, samplesheets
from jumpbench.tables.views.captions import caption
from jumpbench.tables.views.smallpng import MOST_BYTES, small_png
from jumpbench.tables.views.view import View

BUDGET = 10_000_000
RECORD = ["report", "--record", "toy/coins", "scale=smoke"]
CURVE = "{name: c, _target_: jumpbench.tables.views.figures.curves, metrics: [mean], x: n%s}"


def png(pixels) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def test_a_drawing_keeps_its_size_and_a_photograph_its_bytes():
    drawing = np.full((300, 2000, 4), 255, np.uint8)
    drawing[100:103, :, :3] = (200, 30, 40)
    drawing[200:] = 0  # transparent
    small = Image.open(io.BytesIO(small_png(png(drawing)))).convert("RGB")
    assert small.size == (1600, 240)
    assert small.getpixel((5, 230)) == (255, 255, 255)
    noise = np.random.default_rng(0).integers(0, 256, (500, 700, 3), np.uint8)
    assert len(png(noise)) > 5 * MOST_BYTES
    content = small_png(png(noise))
    assert len(content) <= MOST_BYTES
    wide, high = Image.open(io.BytesIO(content)).size
    assert 160 <= wide < 700 and high / wide == pytest.approx(5 / 7, abs=0.01)
    exact = np.zeros((40, 60, 3), np.uint8)
    exact[5:20, 5:30] = (12, 200, 99)
    kept = np.asarray(Image.open(io.BytesIO(small_png(png(exact)))).convert("RGB"))
    assert (kept == exact).all()


def test_what_is_no_picture_or_does_not_fit_is_refused():
    with pytest.raises(UserError, match="cannot be read"):
        small_png(b"nothing")
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8)
    with pytest.raises(UserError, match="does not fit into 1000 bytes"):
        small_png(png(noise), 1000)


@pytest.fixture
def drawn(project, own_page):
    """The toy table with one figure, made; returns its file."""
    table = project / "reproduce/toy/coins.yaml"
    figure = CURVE % ", caption: Means by n"
    table.write_text(
        table.read_text()
        .replace("figures: []", f"figures: [{figure}]")
        .replace("small n, overrides: []", "small n, overrides: [], vars: {n: 500}")
    )
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    return table


def fresh_page(project, monkeypatch) -> str:
    """The page where nothing was made, as in a fresh clone."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "fresh"))
    assert main(["report"]) == 0
    return (project / "fresh/report/index.html").read_text()


def test_a_record_keeps_its_pictures(project, drawn, monkeypatch):
    assert main([*RECORD, "--readme"]) == 0
    record = project / "reproduce/toy/results/coins.smoke.json"
    picture = record.with_name("coins.smoke.c.png")
    digest = hashlib.sha256(picture.read_bytes()).hexdigest()
    named = json.loads(record.read_text())["pictures"]
    assert named == [{"name": "c", "file": picture.name, "sha256": digest}]
    assert picture.stat().st_size <= MOST_BYTES
    results = (project / "reproduce/toy/RESULTS.md").read_text()
    assert "![Means by n](results/coins.smoke.c.png)\n\nMeans by n\n" in results
    assert "No picture is recorded" not in results
    page = fresh_page(project, monkeypatch)
    assert base64.b64encode(picture.read_bytes()).decode() in page
    assert 'alt="Means by n"' in page and "<figcaption>Means by n</figcaption>" in page
    assert not (project / "fresh/report/figures").exists()  # nothing is drawn again


def test_a_page_elsewhere_finds_the_picture(project, drawn):
    (project / "README.md").write_text(
        "<!-- result:toy/coins.smoke -->\n<!-- /result:toy/coins.smoke -->"
    )
    assert main([*RECORD, "--readme"]) == 0
    text = (project / "README.md").read_text()
    assert "(reproduce/toy/results/coins.smoke.c.png)" in text


@pytest.mark.slow
def test_a_record_is_drawn_anew_and_drops_what_it_no_longer_names(project, drawn):
    assert main(RECORD) == 0
    results = project / "reproduce/toy/results"
    (results / "coins.small.c.png").write_bytes(b"of another scale")
    figure = project / "outputs/tables/toy/coins/smoke/figures/c.png"
    figure.write_bytes(b"of an older code")
    assert main(RECORD) == 0
    assert len(pictures_of(results / "coins.smoke.json", read_record("toy/coins", "smoke"))) == 1
    drawn.write_text(drawn.read_text().replace("name: c,", "name: d,"))
    assert main(RECORD) == 0
    files = sorted(file.name for file in results.glob("*.png"))
    assert files == ["coins.small.c.png", "coins.smoke.d.png"]


def test_a_record_without_pictures_says_how_to_make_them(project, drawn, monkeypatch):
    assert main(RECORD) == 0
    record = project / "reproduce/toy/results/coins.smoke.json"
    content = json.loads(record.read_text())
    del content["pictures"]
    record.write_text(json.dumps(content))
    assert main(["report", "--readme"]) == 0
    line = "No picture is recorded; `reproduce/run_table.sh toy/coins scale=smoke` draws them into"
    assert line in (project / "reproduce/toy/RESULTS.md").read_text()
    page = fresh_page(project, monkeypatch)
    assert line.replace("`", "") in page and "data:image/png" not in page


def test_a_table_without_figures_records_its_samples(project, drawn, monkeypatch):
    text = drawn.read_text()
    drawn.write_text("\n".join(x for x in text.splitlines() if not x.startswith("figures:")) + "\n")
    for run in (project / "outputs/runs/toy").glob("coin-*"):
        torch.save({"samples": torch.randint(0, 2, (40, 36))}, run / SAMPLES)
    assert main([*RECORD, "--readme"]) == 0
    (name,) = json.loads((project / "reproduce/toy/results/coins.smoke.json").read_text())[
        "pictures"
    ]
    assert name["file"] == "coins.smoke.runs.png"
    text = (project / "reproduce/toy/RESULTS.md").read_text()
    assert "![Samples of the first run of each row.](results/coins.smoke.runs.png)" in text


def test_rows_are_pictured_in_the_column_that_most_of_them_have(project):
    """Columns "cost" and "hot" of one row, "hot" of the other; a run may fill both."""
    table = load("toy/coins")
    metric, (one, two) = next(iter(table.metrics)), [row.name for row in table.rows[:2]]
    places = [(one, "cost", "a"), (one, "hot", "a"), (two, "hot", "b"), (two, "cold", "c")]
    cells = [
        Cell(row, column, metric, measured=1.0, values=[Value(0, 1.0, f"toy/coin-{run * 10}")])
        for row, column, run in places
    ]
    runs = runpictures.runs_of_rows(View(table, "smoke", cells))
    assert [name.split(" (")[1] for name in runs] == ["hot)", "hot)"]
    assert [folder.name for folder in runs.values()] == ["coin-aaaaaaaaaa", "coin-bbbbbbbbbb"]


def test_exact_values_out_of_another_rows_runs_have_no_samples_of_their_own(project):
    """Of two reference rows, before and behind a row of samples, the one with runs of its own."""
    table = load("toy/coins")
    metric, row = next(iter(table.metrics)), table.rows[0]
    rows = [
        dataclasses.replace(row, name=n, reference=n != "drawn") for n in ("of", "drawn", "own")
    ]
    cells = [
        Cell(name, "cost", metric, measured=1.0, values=[Value(0, 1.0, f"toy/coin-{run * 10}")])
        for name, run in (("of", "a"), ("drawn", "a"), ("own", "b"))
    ]
    view = View(dataclasses.replace(table, rows=tuple(rows)), "smoke", cells)
    assert [name.split(" (")[0] for name in runpictures.runs_of_rows(view)] == ["drawn", "own"]
    assert [cell.row for cell in runpictures.first_cells(view).values()] == ["drawn", "own"]


def test_sequences_are_no_picture_of_samples(tmp_path):
    torch.save({"samples": torch.randint(0, 50, (40, 10))}, tmp_path / SAMPLES)
    assert samplesheets.sample_sheet({"a": tmp_path}) is None
    assert samplesheets.sample_sheet({"a": tmp_path / "nothing"}) is None
    letters = {"samples": torch.arange(4).repeat(3, 16)}  # 64 letters are no square of 8x8
    torch.save(letters, tmp_path / SAMPLES)
    write_config(tmp_path, {"method": {"target": None}})
    assert samplesheets.sample_sheet({"a": tmp_path}) is None
    write_config(tmp_path, {"method": {"target": {"size": 8}}})
    assert samplesheets.sample_sheet({"a": tmp_path}) is not None


DAMAGE = ("none", "altered", "link", "large", "gone", "folder", "name", "entry")


def test_what_is_not_the_recorded_picture_is_left_out(project, drawn, capsys, monkeypatch):
    assert main(RECORD) == 0
    record = project / "reproduce/toy/results/coins.smoke.json"
    picture, content = record.with_name("coins.smoke.c.png"), json.loads(record.read_text())
    own = picture.read_bytes() + b"which the numbers alone do not draw"
    elsewhere = project / "leak.png"
    elsewhere.write_bytes(own)
    for damage in DAMAGE:
        picture.unlink(missing_ok=True)
        picture.write_bytes(own)
        entry = {"name": "c", "file": picture.name, "sha256": hashlib.sha256(own).hexdigest()}
        content["pictures"] = [entry]
        if damage == "altered":
            entry["sha256"] = entry["sha256"][::-1]
        elif damage == "link":  # the same content, but elsewhere
            picture.unlink()
            picture.symlink_to(elsewhere)
        elif damage == "large":
            large = own + bytes(MOST_BYTES)
            picture.write_bytes(large)
            entry["sha256"] = hashlib.sha256(large).hexdigest()
        elif damage == "gone":
            picture.unlink()
        elif damage == "folder":
            entry["file"] = "../results/coins.smoke.c.png"
        elif damage == "name":
            entry["name"] = "../c"
        elif damage == "entry":
            content["pictures"] = ["c", 3]
        record.write_text(json.dumps(content))
        capsys.readouterr()
        assert bool(pictures_of(record, content)) == (damage == "none"), damage
        assert ("left out: " in capsys.readouterr().err) == (damage != "none")
        if damage in ("none", "link"):
            assert main(["report", "--readme"]) == 0
            results = (project / "reproduce/toy/RESULTS.md").read_text()
            assert (picture.name in results) == (damage == "none")
            page = fresh_page(project, monkeypatch)
            assert (base64.b64encode(own).decode() in page) == (damage == "none")


def test_captions_are_of_the_file_or_the_name_in_words(project, drawn):
    table = load("toy/coins")
    assert caption(table, "c") == "Means by n"
    assert caption(table, "figure3_4") == "Figure 3, 4"
    assert caption(table, "figure8_other_rows") == "Figure 8, other rows"
    assert caption(table, "piano_rolls") == "Piano rolls"
    drawn.write_text(drawn.read_text().replace("Means by n", "[3]"))
    with pytest.raises(UserError, match="caption of figure 'c' is no text"):
        load("toy/coins")


def test_every_figure_of_the_suite_has_a_caption():
    for table_id in available():
        for figure in load(table_id).figures or ():
            assert figure.get("caption"), f"{table_id}: {figure['name']}"


@pytest.mark.skipif(checkout() is None, reason="needs the records of a checkout")
def test_the_recorded_pictures_of_the_suite_are_whole_and_within_their_budget(capsys):
    """10 MB in all, 200 kB each; every one is named by its record, and none is left over."""
    folder = suite_root() / "reproduce"
    sizes = {file: file.stat().st_size for file in folder.rglob("*.png")}
    assert sum(sizes.values()) <= BUDGET
    assert not [file.name for file, size in sizes.items() if size > MOST_BYTES]
    named = set()
    for record in folder.glob("*/results/*.*.json"):
        content = json.loads(record.read_text())
        found = pictures_of(record, content)
        assert len(found) == len(content.get("pictures", ())), record.name
        named |= set(found.values())
        beside = {f for f in record.parent.glob("*.png") if f.name.startswith(f"{record.stem}.")}
        others = {f for f in beside if f.name == f"{record.stem}.png"}
        assert beside - others <= named, record.name
