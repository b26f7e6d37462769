"""The peak rates of Tables 1 and 2 below paper scale follow from the recorded tuning."""

import pytest

from jumpbench.paths import checkout
from jumpbench.tables.commands.recorded import read_record
from jumpbench.tables.planning.plan import plan_run

PAPER = "symmetric_diffusers"
GRID = [0.001, 0.003, 0.01]
FAMILIES = {
    "DiffSort, lists": ("sort_diffsort", "diffsort/small"),
    "Error-free DiffSort, lists": ("sort_error_free_diffsort", "error_free/small"),
    "SymmetricDiffusers, lists": ("sort", "sorter/small"),
    "DiffSort, jigsaws": ("jigsaw_diffsort", "jigsaw_diffsort/small"),
    "Error-free DiffSort, jigsaws": ("jigsaw_error_free_diffsort", "jigsaw_error_free/small"),
    "Gumbel-Sinkhorn Network, jigsaws": ("jigsaw_gumbel_sinkhorn", "gumbel_sinkhorn/small"),
    "SymmetricDiffusers, jigsaws": ("jigsaw", "diffuser/jigsaw"),
}


def tried(family):
    """Correct by peak."""
    return {
        float(cell["row"].rpartition("peak ")[2]): cell["measured"]
        for cell in read_record(f"{PAPER}/tuning", "medium")["cells"]
        if cell["row"].startswith(f"{family}, peak ") and cell["metric"] == "correct"
    }


@pytest.mark.skipif(checkout() is None, reason="needs the records of a checkout")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_peak_is_the_best_of_those_tried(family):
    correct = tried(family)
    best = max(correct, key=correct.get)
    assert sorted(correct) == (GRID if max(GRID, key=correct.get) < GRID[-1] else [*GRID, 0.03])
    experiment, scale = FAMILIES[family]
    run = plan_run(f"{PAPER}/{experiment}", (f"scale={PAPER}/{scale}",))
    scheduler = run.config["method"]["scheduler"]
    assert (scheduler["peak"], scheduler["warmup"]) == (best, 450)
