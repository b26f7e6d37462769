"""Notes say the numbers of the runs that are shown, at every scale."""

import json
import re

import pytest
from toys import TABLE

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.paths import suite_root
from jumpbench.tables.commands.recorded_views import recorded_view
from jumpbench.tables.judging.mentions import composed_numbers, filled, numbers, spelled
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build, whole
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.views.tablefiles import TableFiles
from jumpbench.tables.views.wording import banner, notes

IDS = [i for i in available() if (suite_root() / "reproduce" / f"{i}.yaml").is_file()]
SCALES = [(table_id, scale) for table_id in IDS for scale in load(table_id).scales]


def written(project, *changes):
    text = TABLE
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (project / "reproduce/toy/coins.yaml").write_text(text)
    return load("toy/coins")


def said(table, scale="small", *overrides):
    return numbers(table, scale, whole(table, Selection(scale, overrides=overrides)))


FAIR = ("{name: fair,", '{name: fair, note: "${method.n_samples} flips",')
SMALL = (
    "{note: two seeds,",
    '{note: "bias ${fair: method.bias}", rows: {fair: [method.n_samples=50]},',
)


def test_the_note_of_a_row_says_the_numbers_of_its_runs_at_the_scale(project):
    table = written(project, FAIR, SMALL)
    for scale, flips in (("small", "50"), ("paper", "500 / 4,000")):
        files = TableFiles(TablePlan(table, Selection(scale)))
        view = files.view(files.cells(), files.content(files.cells()))
        assert f"fair: {flips} flips" in notes(view)
        if scale == "small":
            assert banner(view) == ["Scale small: bias 0.5."]


def test_overrides_of_the_call_are_what_ran(project):
    table = written(project, FAIR)
    assert said(table, "small", "method.n_samples=7") == {"fair: method.n_samples": "7"}


def test_claims_readings_and_heads_say_them_too(project):
    table = written(
        project, ("The fair coin is lowest.", '"Of ${walk: trainer.max_steps} steps."'),
        ("claims:", 'reading: ["Biases ${method.bias}."]\nclaims:'),
        ("{note: two seeds,", "{title: '${biased: method.bias}', "
         "heads: {rows: {fair: '${fair: method.bias}'}},"),
    )  # fmt: skip
    shown = filled(table, "small", said(table))
    assert shown.claims[0].text == "Of 20 steps." and shown.reading == ("Biases 0.5 / 0.9.",)
    small = shown.scales["small"]
    assert small.title == "0.9" and small.heads.row("fair") == "0.5"
    assert shown.scales["paper"] == table.scales["paper"]


def test_keys_reach_into_needed_runs(project):
    table = written(
        project, ("{name: fair,", '{name: fair, experiment: toy/second, note: "from '
                  '${needs.first.method.bias}",')
    )  # fmt: skip
    assert said(table) == {"fair: needs.first.method.bias": "0.25"}


def test_a_row_that_the_scale_leaves_out_has_no_number(project):
    only = ("{note: two seeds,", "{note: two seeds, only_rows: [biased],")
    table = written(project, FAIR, only)
    assert said(table) == {"fair: method.n_samples": "–"}


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("${method.flips} flips", "its runs have no number or word 'method.flips'"),
        ("${method} flips", "its runs have no number or word 'method'"),
        ("${foul: method.bias}", "there is no row 'foul'"),
    ],
)
def test_a_mention_of_nothing_is_an_error(project, note, words):
    table = written(project, ("{name: fair,", f"{{name: fair, note: '{note}',"))
    with pytest.raises(UserError, match=re.escape(words)):
        TableFiles(TablePlan(table, Selection("small")))


def test_values_read_as_in_a_sentence():
    assert [spelled(v) for v in (1500, 20, 0.4407, 1e-4, [0, 5, 7], "word")] == [
        "1,500", "20", "0.4407", "0.0001", "[0,5,7]", "word",
    ]  # fmt: skip
    assert [spelled(v) for v in (None, True, {"a": 1})] == [None] * 3


def test_a_record_keeps_the_numbers_of_its_runs(project):
    """Also when the configuration has changed since; what it lacks is composed as it is today."""
    table = written(project, FAIR)
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    path = project / "reproduce/toy/results/coins.smoke.json"
    content = json.loads(path.read_text())
    assert content["mentions"] == {"fair: method.n_samples": "500 / 4,000"}
    table = written(project, FAIR, ("  smoke: {", "  smoke: {rows: {fair: [method.n_samples=9]}, "))
    assert "fair: 500 / 4,000 flips" in notes(recorded_view(table, content))
    for damaged in (None, [], {"another": 3}):
        view = recorded_view(table, {**content, "mentions": damaged})
        assert "fair: 9 flips" in notes(view)


@pytest.mark.slow
@pytest.mark.parametrize(("table_id", "scale"), SCALES)
def test_every_mention_of_the_suite_has_its_number(table_id, scale):
    table = load(table_id)
    known = composed_numbers(table, scale, {})
    grid = build(table, Selection(scale, "[0]"))
    inside = {cell.row.name for cell in grid if cell.runs}
    shown = filled(table, scale, known)
    words = [*shown.reading, *(claim.text for claim in shown.claims), shown.scales[scale].note]
    words += [row.note for row in shown.rows if row.note and row.name in inside]
    assert not [text for text in words if "${" in text or "–" in text]
