"""What a run's files say about a cell: numbers, counts, what stands beside, and damage."""

import dataclasses
import json
import os

import pytest
from claimed import finish

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.judging.collect import collect
from jumpbench.tables.judging.readings import Records
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.selection import Selection


def test_a_point_of_a_curve_says_its_own_number_of_samples(table):
    grid = build(table, Selection("smoke", rows="fair", columns="small n"))
    metric = dataclasses.replace(table.metrics["mean"], source="mean@2")
    entry = dataclasses.replace(grid[0], metric=metric)
    for own, expected in ({"n_samples@2": 16.0}, 16), ({"n_samples@1": 16.0}, 100):
        finish(entry.runs[0], **{"mean@2": 0.5, "n_samples": 100.0, **own})
        (cell,) = collect(table, [entry], Records(), "smoke")
        assert cell.n_samples == expected


@pytest.mark.parametrize(
    ("kept", "expected"),
    [({"spin": [1, 0.5]}, [2.0, 1.0]), ({}, None), ({"spin": [1, "nan"]}, None), ([1], None)],
)
def test_numbers_of_samples_are_read_and_survive_a_record(table, kept, expected):
    metric = dataclasses.replace(table.metrics["mean"], by_sample="spin", factor=2.0)
    grid = build(table, Selection("smoke", rows="fair", columns="small n"))
    entry = dataclasses.replace(grid[0], metric=metric)
    (run,) = entry.runs
    run.folder.mkdir(parents=True)
    content = {"metrics": {"mean": 0.75, "n_samples": 2.0}, "seed": run.seed, "by_sample": kept}
    (run.folder / "metrics.json").write_text(json.dumps(content))
    (cell,) = collect(table, [entry], Records(), "smoke")
    assert cell.values[0].by_sample == expected and cell.measured == 1.5
    assert Cell.from_json(json.loads(json.dumps(cell.as_json())), "here") == cell
    assert ("by_sample" in cell.as_json()["values"][0]) == (expected is not None)


DAMAGE = {
    "truncated": '{"metrics": {',
    "text": '{"metrics": {"mean": "abc"}}',
    "empty text": '{"metrics": {"mean": ""}}',
    "null": '{"metrics": {"mean": null}}',
    "list": '{"metrics": {"mean": [1]}}',
    "truth": '{"metrics": {"mean": true}}',
    "huge": '{"metrics": {"mean": 1' + "0" * 400 + "}}",
    "huger": '{"metrics": {"mean": 1' + "0" * 5000 + "}}",
    "not a mapping": "[]",
    "no metrics": "{}",
    "deep": "[" * 100_000,
    "n_samples": '{"metrics": {"mean": 0.5, "n_samples": "nan"}}',
    "n_samples list": '{"metrics": {"mean": 0.5, "n_samples": []}}',
    "binary": None,
    "fifo": None,
    "folder": None,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_fails_its_cell_alone(table, damage):
    grid = build(table, Selection("smoke", rows="fair,biased", columns="small n"))
    finish(grid[1].runs[0], mean=0.9)
    path = grid[0].runs[0].folder / "metrics.json"
    path.parent.mkdir(parents=True)
    if damage == "fifo":
        os.mkfifo(path)
    elif damage == "folder":
        path.mkdir()
    elif damage == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    else:
        path.write_text(DAMAGE[damage])
    broken, whole = collect(table, grid, Records(), "paper")
    assert broken.status == "failed" and broken.measured is None
    assert str(path) in broken.note and "\n" not in broken.note
    assert whole.status == "measured"


@pytest.mark.parametrize("value", ["nan", "x", [1], None, 1e999])
def test_a_floor_that_is_no_number_is_told_and_left_out(table, value):
    grid = build(table, Selection("smoke", rows="fair", columns="small n"))
    finish(grid[0].runs[0], mean=0.5, floor=value)
    (cell,) = collect(table, grid, Records(), "paper")
    assert cell.status == "measured" and cell.perfect is None and "'floor'" in cell.note
    json.dumps(cell.as_json(), allow_nan=False)
