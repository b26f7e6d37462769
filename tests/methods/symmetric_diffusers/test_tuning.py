"""The peak rates of Table 2 below paper scale follow from the recorded tuning."""

import pytest

from jumpbench.paths import checkout
from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import Selection, build, unique_runs

PAPER = "symmetric_diffusers"
GRID = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
FAMILIES = {
    "DiffSort, lists": "DiffSort",
    "Error-free DiffSort, lists": "Error-free DiffSort",
    "SymmetricDiffusers, lists": "SymmetricDiffusers (ours)",
}


def tried(family):
    """Correct by peak."""
    return {
        float(cell["row"].rpartition("peak ")[2]): cell["measured"]
        for cell in read_record(f"{PAPER}/tuning", "small")["cells"]
        if cell["row"].startswith(f"{family}, peak ") and cell["metric"] == "correct"
    }


@pytest.mark.skipif(checkout() is None, reason="needs the records of a checkout")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_peak_is_the_best_of_those_tried(family):
    correct = tried(family)
    best = max(correct, key=correct.get)
    place = GRID.index(best)
    assert {*GRID[place - 1 : place + 2], 0.001, 0.003, 0.01} <= {*correct} <= {*GRID}
    for scale in ("small", "medium"):
        grid = build(load(f"{PAPER}/table2"), Selection(scale, "[0]", FAMILIES[family]))
        schedulers = [run.config["method"]["scheduler"] for run in unique_runs(grid)]
        assert {(s["peak"], s["warmup"]) for s in schedulers} == {(best, 450)}
