import dataclasses
import json
import math

import pytest

from jumpbench.tables.collect import Records, collect, verdict
from jumpbench.tables.grid import Selection, build
from jumpbench.tables.spec import Metric, load


@pytest.fixture
def table(project):
    return load("toy/coins")


def finish(run, **metrics):
    run.folder.mkdir(parents=True, exist_ok=True)
    (run.folder / "metrics.json").write_text(json.dumps({"metrics": metrics, "seed": run.seed}))


def test_cells_are_means_over_the_seeds_that_are_there(table):
    grid = build(table, Selection("paper", rows="fair", columns="small n"))
    for run, value in zip(grid[0].runs, (0.5, 0.6), strict=False):
        finish(run, mean=value, floor=0.1, n_samples=100.0)
    (cell,) = collect(table, grid, Records(), "paper")
    assert cell.measured == pytest.approx(0.55)
    assert cell.std == pytest.approx(math.sqrt(0.005))
    assert (cell.n_seeds, cell.n_samples, cell.floor) == (2, 100, 0.1)
    assert cell.status == "measured" and cell.run_ids == [r.id for r in grid[0].runs[:2]]


def test_statuses_are_honest(table):
    grid = build(table, Selection("smoke", columns="small n"))
    fair, biased, walk, elsewhere = grid
    (fair.runs[0].folder).mkdir(parents=True)
    (fair.runs[0].folder / "error.json").write_text('{"kind": "DataMissing", "message": "no file"}')
    finish(biased.runs[0], other=1.0)
    finish(walk.runs[0], mean="nan")
    cells = collect(table, grid, Records(), "paper")
    assert [c.status for c in cells] == ["data-missing", "failed", "failed", "cited"]
    assert [c.measured for c in cells] == [None] * 4
    assert "no file" in cells[0].note and "'mean'" in cells[1].note and "nan" in cells[2].note
    assert elsewhere.runs == () and cells[3].paper == 0.1


def test_a_damaged_record_fails_its_cell_alone(table):
    grid = build(table, Selection("smoke", rows="fair,biased", columns="small n"))
    finish(grid[0].runs[0], mean=0.5)
    path = grid[0].runs[0].folder / "metrics.json"
    path.write_text(path.read_text()[:12])
    finish(grid[1].runs[0], mean=0.9)
    broken, whole = collect(table, grid, Records(), "paper")
    assert broken.status == "failed" and "damaged" in broken.note
    assert whole.status == "measured"


def test_verdict_follows_the_stated_formula(table):
    lower = Metric("m", better="lower", digits=2)
    # two seeds against one published: 2 * sqrt(0.01^2 * 1.5) + 0.005 = 0.02949
    assert verdict(table, lower, 0.5 + 0.0294, 0.01, 2, 0.5) == "match"
    assert verdict(table, lower, 0.5 + 0.0296, 0.01, 2, 0.5) == "worse"
    assert verdict(table, lower, 0.5 - 0.0296, 0.01, 2, 0.5) == "better"
    assert verdict(table, Metric("m", better="higher", digits=2), 0.6, 0.01, 2, 0.5) == "better"
    assert verdict(table, lower, 0.5, None, 1, 0.5) is None  # no spread known: nothing to say
    assert verdict(table, lower, 0.5, 0.01, 2, None) is None
    assert verdict(table, Metric("m", digits=2), 9.0, 0.01, 2, 0.5) is None
    wide = Metric("m", better="lower", digits=2, tolerance=0.5)
    assert verdict(table, wide, 1.2, 0.01, 2, 0.5) == "match"


def test_a_scale_that_changes_the_problem_is_not_compared(table):
    scales = dict(table.scales)
    scales["small"] = dataclasses.replace(scales["small"], compare=None)
    grid = build(table, Selection("small", rows="fair", columns="small n"))
    finish(grid[0].runs[0], mean=0.5, n_samples=100.0)
    (compared,) = collect(table, grid, Records(), "small")
    (shown,) = collect(dataclasses.replace(table, scales=scales), grid, Records(), "small")
    assert compared.verdict == "match" and shown.verdict is None
    assert shown.paper == 0.5
