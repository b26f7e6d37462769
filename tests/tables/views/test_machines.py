"""Which rows of a column ran on another machine than the rest, where seconds are compared."""

from dataclasses import replace

import pytest

from jumpbench.tables.judging.cells import Cell
from jumpbench.tables.language.spec import load
from jumpbench.tables.views import wording
from jumpbench.tables.views.machines import mixed_machines
from jumpbench.tables.views.view import View

A, B = "AMD EPYC, 1 threads", "Intel Xeon, 1 threads"


@pytest.fixture
def view(project):
    """Three rows and two columns of seconds; run ``row/column`` of each cell."""
    table = load("toy/coins")
    metrics = {n: replace(m, source="run/seconds") for n, m in table.metrics.items()}
    cells = [
        Cell(row.name, column.name, "mean", measured=1.0, status="measured",
             run_ids=[f"{row.name}/{column.name}"])
        for row in table.rows for column in table.columns
    ]  # fmt: skip
    return View(replace(table, metrics=metrics), "smoke", cells)


def made_on(view, first, second):
    origins = [{"hardware": [name], "runs": dict.fromkeys(runs, 1.0)}
               for name, runs in ((A, first), (B, second))]  # fmt: skip
    return replace(view, provenance={"origins": origins})


def test_the_rows_of_the_other_machine_are_named(view):
    every = [run for cell in view.cells for run in cell.run_ids]
    fair = [run for run in every if run.startswith("fair/")]
    mixed = made_on(view, fair, [run for run in every if run not in fair])
    (line,) = mixed_machines(mixed)
    assert line == (
        "small n; large n: runs of 2 machines, whose seconds differ: "
        f"fair on {A}; the other rows on {B}"
    )
    assert line in wording.notes(mixed)


def test_columns_that_part_their_rows_otherwise_have_lines_of_their_own(view):
    every = [run for cell in view.cells for run in cell.run_ids]
    elsewhere = ["fair/small n", "biased/large n"]
    lines = mixed_machines(made_on(view, elsewhere, [r for r in every if r not in elsewhere]))
    assert [line.partition(" on ")[0] for line in lines] == [
        "small n: runs of 2 machines, whose seconds differ: fair",
        "large n: runs of 2 machines, whose seconds differ: biased",
    ]  # fmt: skip


def test_whole_columns_elsewhere_and_metrics_without_seconds_say_nothing(view):
    every = [run for cell in view.cells for run in cell.run_ids]
    small = [run for run in every if run.endswith("small n")]
    large = [run for run in every if run not in small]
    assert mixed_machines(made_on(view, small, large)) == []
    untimed = replace(view, table=load("toy/coins"))
    assert mixed_machines(made_on(untimed, every[:1], every[1:])) == []
