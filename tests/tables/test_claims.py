import dataclasses

import pytest

from jumpbench.errors import UserError
from jumpbench.tables.claims import evaluate
from jumpbench.tables.collect import Cell
from jumpbench.tables.spec import Claim, load


@pytest.fixture
def decide(project):
    """The verdict of one check on given values: {(row, column): (value, standard error)}."""
    table = load("toy/coins")

    def run(check, values):
        cells = [
            Cell(row, column, "mean", measured=value, uncertainty=error, status="measured")
            for (row, column), (value, error) in values.items()
        ]
        claimed = dataclasses.replace(table, claims=(Claim("c", "text", check),))
        (result,) = evaluate(claimed, cells, "paper")
        return result["holds"], result["detail"]

    return run


A, B = ("fair", "small n"), ("biased", "small n")


@pytest.mark.parametrize(
    ("gap", "expected"), [(0.3, True), (-0.3, False), (0.1, None), (-0.1, None)]
)
def test_a_difference_within_two_standard_errors_is_open(decide, gap, expected):
    check = {"best": {"row": "fair", "columns": ["small n"]}}
    values = {A: (0.5, 0.06), B: (0.5 + gap, 0.08)}  # error of the difference: 0.1
    assert decide(check, values)[0] is expected


def test_missing_cells_leave_a_claim_open(decide):
    holds, detail = decide({"best": {"row": "fair"}}, {A: (0.5, 0.01), B: (0.9, 0.01)})
    assert holds is None and "no number" in detail
    holds, detail = decide({"best": {"row": "fair"}}, {A: (0.5, 0.01)})
    assert holds is None and "none of its 2 comparisons" in detail


def test_order_trend_compare_all_any(decide):
    values = {A: (0.5, 0.0), B: (0.9, 0.0), ("fair", "large n"): (0.4, 0.0)}
    order = {"order": {"rows": ["fair", "biased"], "metric": "mean", "columns": ["small n"]}}
    falling = {"trend": {"rows": ["fair"], "metric": "mean", "direction": "decreasing"}}
    left = {"row": "fair", "column": "small n", "metric": "mean"}
    right = {"row": "biased", "column": "small n", "metric": "mean"}
    half = {"compare": {"left": left, "op": "<", "factor": 0.5, "right": right}}
    assert decide(order, values)[0] is True
    assert decide(falling, values)[0] is True
    assert decide(half, values)[0] is False  # 0.5 against 0.45
    assert decide({"compare": {"left": left, "op": "<", "right": 0.6}}, values)[0] is True
    assert decide({"all": [order, half]}, values)[0] is False
    assert decide({"any": [half, order]}, values)[0] is True


@pytest.mark.parametrize(
    "check",
    [
        {"beste": {"row": "fair"}},
        {"best": {}},
        {"best": {"row": "nobody"}},
        {"order": {"rows": ["fair", "biased"], "metric": "median"}},
        {"trend": {"rows": ["fair"], "metric": "mean", "direction": "sideways"}},
        {"compare": {"left": 1, "op": "=", "right": 2}},
        [],
    ],
)
def test_a_misspelled_check_names_its_claim(decide, check):
    with pytest.raises(UserError, match="claim 'c'"):
        decide(check, {A: (0.5, 0.0), B: (0.9, 0.0)})


def test_a_claim_is_left_open_at_scales_that_cannot_decide_it(project):
    table = load("toy/coins")
    claim = Claim("c", "text", {"best": {"row": "fair"}}, scales=("paper",))
    cells = [
        Cell(row, column, "mean", measured=value, uncertainty=0.0, status="measured")
        for row, value in (("fair", 0.5), ("biased", 0.9))
        for column in ("small n", "large n")
    ]
    claimed = dataclasses.replace(table, claims=(claim,))
    assert evaluate(claimed, cells, "paper")[0]["holds"] is True
    assert evaluate(claimed, cells, "small")[0]["holds"] is None
