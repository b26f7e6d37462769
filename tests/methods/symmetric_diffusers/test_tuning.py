"""The peak rates of Tables 1 and 2 below paper scale follow from the recorded tuning."""

import pytest

from jumpbench.paths import checkout
from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import Selection, build, unique_runs

PAPER = "symmetric_diffusers"
GRID = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
METHODS = {
    "DiffSort": "DiffSort",
    "Error-free DiffSort": "Error-free DiffSort",
    "Gumbel-Sinkhorn Network": "Gumbel-Sinkhorn Network",
    "SymmetricDiffusers": "SymmetricDiffusers (ours)",
}
TABLES = {"lists": "table2", "jigsaws": "table1"}
FAMILIES = [
    (method, task)
    for task in TABLES
    for method in METHODS
    if (method, task) != ("Gumbel-Sinkhorn Network", "lists")  # which has no row in Table 2
]


def tried(method, task):
    """Correct by peak."""
    return {
        float(cell["row"].rpartition("peak ")[2]): cell["measured"]
        for cell in read_record(f"{PAPER}/tuning", "small")["cells"]
        if cell["row"].startswith(f"{method}, {task}, peak ") and cell["metric"] == "correct"
    }


@pytest.mark.skipif(checkout() is None, reason="needs the records of a checkout")
@pytest.mark.parametrize(("method", "task"), FAMILIES)
def test_the_peak_is_the_best_of_those_tried(method, task):
    correct = tried(method, task)
    best = max(correct, key=correct.get)
    place = GRID.index(best)
    assert {*GRID[place - 1 : place + 2], 0.001, 0.003, 0.01} <= {*correct} <= {*GRID}
    for scale in ("small", "medium"):
        table = load(f"{PAPER}/{TABLES[task]}")
        grid = build(table, Selection(scale, "[0]", METHODS[method]))
        schedulers = [run.config["method"]["scheduler"] for run in unique_runs(grid)]
        assert {(s["peak"], s["warmup"]) for s in schedulers} == {(best, 450)}
