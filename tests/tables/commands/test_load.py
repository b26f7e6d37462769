"""A table of a thousand runs: what planning, collecting and rendering it cost, in CPU seconds."""

import time

import pytest

from jumpbench.tables.language.spec import load
from jumpbench.tables.planning import plan
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.runs.store import write_json
from jumpbench.tables.views.tablefiles import TableFiles

MOST_SECONDS = 5.0
TABLE = """\
title: Load
about: Coins of many biases.
cost: A
metrics:
  mean: {{label: mean, better: lower, digits: 2, seed_std: 0.02}}
experiment: toy/coin
rows:
{rows}
columns:
{columns}
scales:
  smoke: {{note: one seed, seeds: {seeds}}}
"""


def seconds(work):
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def planned(project, name, rows, columns=10, seeds=2):
    """(CPU seconds, table of ``rows * columns * seeds`` runs)."""
    biases = (f"  - {{name: row {i}, overrides: [method.bias={i / 1000}]}}" for i in range(rows))
    sizes = (f"  - {{name: n {i}, overrides: [method.n_samples={i + 1}]}}" for i in range(columns))
    text = TABLE.format(rows="\n".join(biases), columns="\n".join(sizes), seeds=seeds)
    (project / f"reproduce/toy/{name}.yaml").write_text(text)
    plan.forget()
    return seconds(lambda: TableFiles(TablePlan(load(f"toy/{name}"), Selection("smoke"))))


@pytest.mark.long
def test_a_thousand_runs_are_planned_collected_and_rendered_in_time(project):
    planned(project, "first", 1)  # what is imported
    quarter, _ = planned(project, "quarter", 12)
    spent, files = planned(project, "whole", 50)
    assert len(files.plan.runs) == 1000 and spent <= MOST_SECONDS
    assert spent <= 8 * max(quarter, 0.1)  # linear
    for run in files.plan.runs:
        metrics = {"mean": run.config["method"]["bias"], "n_samples": 1.0}
        write_json(run.folder / "metrics.json", {"run": run.hash, "metrics": metrics, "seed": 0})
    collected, view = seconds(lambda: files.write(final=True))
    assert sum(cell.status == "measured" for cell in view.cells) == 500
    assert collected <= MOST_SECONDS
    print(f"planned {spent:.2f} s (240 runs: {quarter:.2f} s), written {collected:.2f} s")
