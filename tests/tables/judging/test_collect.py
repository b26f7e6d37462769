import dataclasses
import json
import math

import pytest
from claimed import finish

from jumpbench.tables.judging.cells import Cell, spread_in_print, uncertainty, verdict
from jumpbench.tables.judging.collect import collect
from jumpbench.tables.judging.readings import Records
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.types import Published
from jumpbench.tables.planning.grid import build, unique_runs, whole
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.views.layout import blocks, cell_text
from jumpbench.tables.views.view import View
from jumpbench.tables.views.wording import counts, notes


def test_cells_are_means_over_the_seeds_that_are_there(table):
    grid = build(table, Selection("paper", rows="fair", columns="small n"))
    for run, value in zip(grid[0].runs, (0.5, 0.6, 0.7), strict=True):
        finish(run, mean=value, floor=0.1, n_samples=100.0)
    (cell,) = collect(table, grid, Records(), "paper")
    assert cell.measured == pytest.approx(0.6)
    assert cell.std == pytest.approx(0.1)
    assert (cell.n_seeds, cell.n_samples, cell.perfect) == (3, 100, pytest.approx(0.1))
    assert cell.status == "measured" and cell.run_ids == [r.id for r in grid[0].runs]
    assert [(v.seed, v.value, v.run) for v in cell.values] == [
        (run.seed, value, run.id) for run, value in zip(grid[0].runs, (0.5, 0.6, 0.7), strict=True)
    ]
    assert Cell.from_json(json.loads(json.dumps(cell.as_json())), "here") == cell


@pytest.mark.parametrize("last", [None, "nan", "inf", 0.7])
def test_a_cell_without_all_its_seeds_is_partial_and_gets_no_verdict(table, last):
    grid = build(table, Selection("paper", rows="fair", columns="small n"))
    finish(grid[0].runs[0], mean=0.5)
    finish(grid[0].runs[1], mean=0.5)
    if last is not None:
        finish(grid[0].runs[2], mean=last)
    (cell,) = collect(table, grid, Records(), "paper")
    whole = last == 0.7
    assert cell.status == ("measured" if whole else "partial")
    assert (cell.verdict is not None) == whole
    assert cell.note == {None: "2 of 3 seeds", 0.7: None}.get(last, cell.note)
    if isinstance(last, str):
        assert f"is {last}" in cell.note


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


def test_the_spread_over_samples_is_printed_where_the_paper_prints_it(table):
    metric = dataclasses.replace(table.metrics["mean"], sample_std="spread", factor=2.0)
    table = dataclasses.replace(table, metrics={"mean": metric})
    grid = build(table, Selection("small", rows="fair", columns="small n"))
    for run, value in zip(grid[0].runs, (0.5, 0.6), strict=True):
        finish(run, mean=value, spread=0.3)
    (cell,) = collect(table, grid, Records(), "small")
    assert (cell.measured, cell.std) == (pytest.approx(1.1), pytest.approx(0.6))
    assert cell.uncertainty == pytest.approx(0.1)  # of the mean: still that between seeds


@pytest.mark.parametrize(("stated", "error"), [(0.05, 0.6), (1.0, 1.0)])
def test_no_smaller_spread_is_believed_than_the_run_measured(table, stated, error):
    """Two seeds whose runs say their numbers are known to 0.3 (factor 2): at least 0.6 each."""
    metric = dataclasses.replace(
        table.metrics["mean"], error="its_error", factor=2.0, seed_std=stated, bounds=None
    )
    table = dataclasses.replace(table, metrics={"mean": metric})
    grid = build(table, Selection("small", rows="fair", columns="small n"))
    first, second = grid[0].runs
    finish(first, mean=0.5, its_error=0.3)
    (alone,) = collect(table, grid[:1], Records(), "small")
    assert alone.uncertainty == pytest.approx(error) and alone.std == pytest.approx(0.6)
    finish(second, mean=0.51, its_error=0.3)
    (both,) = collect(table, grid, Records(), "small")
    assert both.uncertainty == pytest.approx(error / math.sqrt(2)) and both.df is None
    compared = both.estimate(metric, False, "here")  # by what is measured, not what is stated
    assert compared.error == pytest.approx(0.6 / math.sqrt(2)) and len(compared.by_seed) == 2
    assert both.std == pytest.approx(0.02 / math.sqrt(2))  # after ±: between the seeds


def test_a_fact_is_shown_and_not_counted(table):
    """It has its number and the printed one, no error and no verdict, and decides nothing."""
    metric = dataclasses.replace(table.metrics["mean"], fact=True)
    table = dataclasses.replace(table, metrics={"mean": metric})
    grid = build(table, Selection("paper", rows="fair,biased", columns="small n"))
    for run in grid[0].runs:
        finish(run, mean=0.5)
    fact, absent = collect(table, grid, Records(), "paper")
    assert (fact.status, fact.measured, fact.paper) == ("fact", 0.5, 0.5)
    assert fact.verdict is None and (fact.uncertainty, fact.df) == (0.0, None)
    assert fact.estimate(metric, False, "here").value is None and absent.status == "missing"
    assert counts([fact], table) == "nothing to measure, 1 facts of the configuration"
    other = dataclasses.replace(fact, fact=False, status="measured", n_samples=7)
    assert counts([other, fact, absent], table).startswith("1 of 1 cells measured, 1 facts of")
    assert cell_text(fact, metric).line == "0.50 (paper 0.50)"
    assert Cell.from_json(json.loads(json.dumps(fact.as_json())), "here") == fact


LOWER = Metric("m", better="lower", digits=2)
PAPER = Published(0.5, rounding=0.005)


def test_verdict_follows_the_stated_formula(table):
    def told(metric, mean, spread=0.01, df=None, n=2, paper=PAPER):
        return verdict(table, metric, mean, spread, df, n, paper)

    # two seeds against one published: 2 * sqrt(0.01^2 * 1.5) + 0.005 = 0.02949
    assert told(LOWER, 0.5 + 0.0294) == "match"
    assert told(LOWER, 0.5 + 0.0296) == "worse"
    assert told(LOWER, 0.5 - 0.0296) == "better"
    assert told(Metric("m", better="higher"), 0.6) == "better"
    assert told(LOWER, 0.5, None) is None  # no spread known: nothing to say
    assert told(LOWER, 0.5, paper=None) is None
    assert told(LOWER, 0.5, paper=Published("OOM")) is None
    assert told(Metric("m"), 9.0) is None
    assert told(Metric("m", better="lower", printed=False), 0.5) is None
    assert told(Metric("m", better="lower", tolerance=0.5), 1.2) == "match"
    # five seeds: Student's 2.869 with four degrees of freedom instead of 2, s^2 (1/5 + 1)
    edge = 2.8693 * 0.01 * math.sqrt(1.2) + 0.005
    assert told(LOWER, 0.5 + edge - 1e-4, df=4, n=5) == "match"
    assert told(LOWER, 0.5 + edge + 1e-4, df=4, n=5) == "worse"


def test_the_rounding_is_that_of_the_printed_number(table):
    # 0.30 and 0.3 are the same number, known to 0.005 and to 0.05
    for rounding, expected in ((0.005, "worse"), (0.05, "match")):
        paper = Published(0.3, rounding=rounding)
        assert verdict(table, LOWER, 0.34, 0.001, None, 5, paper) == expected


def test_five_equal_seeds_have_the_stated_spread():
    metric = Metric("m", better="lower", seed_std=0.004)
    spread, error, df = uncertainty(metric, [0.150] * 5, None, Published(0.149, rounding=0.0005))
    assert (spread, error, df) == (0.004, pytest.approx(0.004 / math.sqrt(5)), None)


def test_one_seed_has_the_stated_spread_or_none():
    assert uncertainty(Metric("m", seed_std=0.004), [0.15], None, None)[0] == 0.004
    assert uncertainty(Metric("m"), [0.15], None, None) == (None, None, None)
    assert uncertainty(Metric("m", exact=True), [0.15], None, PAPER) == (0.0, 0.0, None)


def test_hundred_percent_can_hold():
    """Three seeds of 4,000 lists without a miss: more than 99.9 percent, and no assumed spread."""
    metric = Metric("m", better="higher", seed_std=0.5, bounds=(0.0, 100.0))
    _, error, df = uncertainty(metric, [100.0] * 3, 4000, None)
    assert error == pytest.approx(100 / 12_000) and df == 2
    assert uncertainty(metric, [99.95] * 3, 4000, None)[0] == 0.5


def test_runs_on_a_bound_do_not_make_the_papers_runs_certain(table):
    """All of 12,000 lists are right: a printed 99.7 of five runs may still be the same method."""
    metric = Metric("m", better="higher", digits=1, seed_std=0.5, bounds=(0.0, 100.0))
    ours, paper = [100.0] * 3, Published(99.7, rounding=0.05)
    spread, _, df = uncertainty(metric, ours, 4000, paper)
    table = dataclasses.replace(table, paper_seeds=5)
    assert verdict(table, metric, 100.0, spread, df, 3, paper) == "better"
    papers = spread_in_print(metric, ours, 4000)
    assert papers == 0.5 and spread_in_print(metric, [100.0, 99.9], 4000) is None
    assert verdict(table, metric, 100.0, spread, df, 3, paper, papers) == "match"
    far = Published(99.4, rounding=0.05)  # 2 x 0.5 / sqrt(5) = 0.45 is allowed, and the rounding
    assert verdict(table, metric, 100.0, spread, df, 3, far, papers) == "better"


def test_a_scale_that_changes_the_problem_is_not_compared(table):
    scales = dict(table.scales)
    scales["small"] = dataclasses.replace(scales["small"], compare=None)
    grid = build(table, Selection("small", rows="fair", columns="small n"))
    for run in grid[0].runs:
        finish(run, mean=0.5, n_samples=100.0)
    (compared,) = collect(table, grid, Records(), "small")
    (alone,) = collect(dataclasses.replace(table, scales=scales), grid, Records(), "small")
    (unjudged,) = collect(table, grid, Records(), "small", judge=False)
    assert compared.verdict == "match" and alone.verdict is None and unjudged.verdict is None
    assert alone.paper == 0.5


def test_a_metric_that_says_nothing_at_a_scale_is_left_out_there(table):
    """Its cells are neither asked nor printed, the scale names it, others have their numbers."""
    second = dataclasses.replace(table.metrics["mean"], name="second", label="The second")
    small = dataclasses.replace(table.scales["small"], only_metrics=("mean",), compare=False)
    table = dataclasses.replace(
        table, metrics={**table.metrics, "second": second}, scales={**table.scales, "small": small}
    )
    grid = whole(table, Selection("small"))
    for run in unique_runs(grid):
        finish(run, mean=0.5, second=0.6)
    cells = collect(table, grid, Records(), "small")
    left = [cell for cell in cells if cell.metric == "second" and cell.status != "cited"]
    assert left and all((c.status, c.asked, c.measured) == ("missing", False, None) for c in left)
    assert all(c.status == "measured" for c in cells if c.metric == "mean" and c.asked)
    view = View(table, "small", cells)
    assert [block.metric.name for block in blocks(view)] == ["mean"]
    assert "Not part of the small scale: metrics The second" in notes(view)
    paper = View(
        table, "paper", collect(table, whole(table, Selection("paper")), Records(), "paper")
    )
    assert len(blocks(paper)) == 2 and not any("Not part" in line for line in notes(paper))
