"""The peak rates of Tables 1 and 2 below paper scale follow from the recorded tuning."""

import pytest

from jumpbench.paths import checkout
from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection

PAPER = "symmetric_diffusers"
GRID = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
BASELINES = ["DiffSort", "Error-free DiffSort", "Gumbel-Sinkhorn Network"]
OURS = "SymmetricDiffusers"
# task, where it is tuned, the table and the columns that the peak serves, who is tuned
TUNED = {
    "lists": ("lists", "n=7", "table2", "*", [*BASELINES[:2], OURS]),
    "MNIST": ("jigsaws", "Noisy MNIST 3x3", "table1", "Noisy*", [*BASELINES, OURS]),
    "CIFAR-10": ("jigsaws", "CIFAR-10 3x3", "table1", "CIFAR*", BASELINES),
}
FAMILIES = [(method, name) for name, tuned in TUNED.items() for method in tuned[-1]]


def tried(method, task, column):
    """Correct by peak."""
    return {
        float(cell["row"].rpartition("peak ")[2]): cell["measured"]
        for cell in read_record(f"{PAPER}/tuning", "small")["cells"]
        if cell["row"].startswith(f"{method}, {task}, peak ")
        and (cell["column"], cell["metric"]) == (column, "correct")
    }


@pytest.mark.skipif(checkout() is None, reason="needs the records of a checkout")
@pytest.mark.parametrize(("method", "name"), FAMILIES)
def test_the_peak_is_the_best_of_those_tried(method, name):
    task, column, table, served, _ = TUNED[name]
    correct = tried(method, task, column)
    best = max(correct, key=correct.get)
    place = GRID.index(best)
    assert {*GRID[place - 1 : place + 2], 0.001, 0.003, 0.01} <= {*correct} <= {*GRID}
    row = f"{OURS} (ours)" if method == OURS else method
    grids = [
        build(load(f"{PAPER}/{table}"), Selection(scale, "[0]", row, served))
        for scale in ("small", "medium")
    ]
    schedulers = [run.config["method"]["scheduler"] for grid in grids for run in unique_runs(grid)]
    assert schedulers and {(s["peak"], s["warmup"]) for s in schedulers} == {(best, 450)}
