import pytest

from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.language.spec import load


@pytest.fixture
def filled(project):
    table = load("toy/coins")
    cells = [
        Cell("fair", "small n", "mean", paper=0.5, measured=0.51234567, std=0.02, n_seeds=2,
             n_samples=500, status="measured", verdict="match", perfect=0.0223,
             values=[Value(0, 0.5, "toy/a"), Value(1, 0.52469134, "toy/b")]),
        Cell("fair", "large n", "mean", paper=0.5, paper_std=0.1, status="failed", note="<b> & c"),
        Cell("elsewhere", "small n", "mean", paper=0.1, status="cited", asked=False),
    ]  # fmt: skip
    return table, cells
