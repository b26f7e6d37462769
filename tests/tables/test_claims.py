import dataclasses
import json
import math

import pytest
import toys
import yaml
from pydantic import TypeAdapter

from jumpbench.errors import UserError
from jumpbench.tables.cells import Cell, Value
from jumpbench.tables.checks import Check
from jumpbench.tables.claims import evaluate, in_print
from jumpbench.tables.language import Claim
from jumpbench.tables.spec import load, parse

CHECK = TypeAdapter(Check)


def claim_of(check, **more):
    return Claim("c", "text", CHECK.validate_json(json.dumps(check)), **more)


@pytest.fixture
def table(project):
    return load("toy/coins")


@pytest.fixture
def decide(table):
    """The verdict of one check on given values: {(row, column): (value, standard error)}."""

    def run(check, values, changed=table):
        cells = [
            Cell(row, column, "mean", measured=value, uncertainty=error, status="measured")
            for (row, column), (value, error) in values.items()
        ]
        claimed = dataclasses.replace(changed, claims=(claim_of(check),))
        (result,) = evaluate(claimed, cells, "paper")
        return result["holds"], result["detail"]

    return run


A, B = ("fair", "small n"), ("biased", "small n")
LEFT = {"row": "fair", "column": "small n", "metric": "mean"}
RIGHT = {"row": "biased", "column": "small n", "metric": "mean"}


@pytest.mark.parametrize(
    ("gap", "expected"), [(0.3, True), (-0.3, False), (0.1, None), (-0.1, None), (0.0, None)]
)
def test_a_difference_within_two_standard_errors_is_open(decide, gap, expected):
    check = {"best": {"row": "fair", "among": ["biased"], "columns": ["small n"]}}
    values = {A: (0.5, 0.06), B: (0.5 + gap, 0.08)}  # error of the difference: 0.1
    assert decide(check, values)[0] is expected


def test_a_tie_an_unknown_spread_and_an_infinite_number_are_open(decide):
    check = {"compare": {"left": LEFT, "op": "<", "right": RIGHT}}
    assert decide(check, {A: (0.5, 0.0), B: (0.5, 0.0)})[0] is None
    assert "equal" in decide(check, {A: (0.5, 0.0), B: (0.5, 0.0)})[1]
    holds, detail = decide(check, {A: (1.88e-15, 0.0), B: (0.0, 0.0)})
    assert holds is None and "0 and 0" in detail and "e-15" not in detail
    for errors in ((None, None), (0.001, None), (None, 0.0)):
        holds, detail = decide(check, {A: (0.50, errors[0]), B: (0.51, errors[1])})
        assert holds is None and "no spread is known" in detail
    assert decide(check, {A: (0.5, 0.1), B: (math.inf, 0.1)})[0] is None


def test_the_comparisons_of_a_claim_share_its_level(decide):
    """t = 2.1 decides one comparison alone, and neither of two."""
    values = {A: (0.5, 0.0), B: (0.71, 0.1), ("fair", "large n"): (0.5, 0.0),
              ("biased", "large n"): (0.71, 0.1)}  # fmt: skip
    one = {"best": {"row": "fair", "among": ["biased"], "column": "small n"}}
    two = {"best": {"row": "fair", "among": ["biased"]}}
    assert decide(one, values)[0] is True
    assert decide(two, values)[0] is None
    worse = {"best": {"row": "biased", "among": ["fair"]}}
    assert decide(worse, values)[0] is None  # and neither does it fail


def test_missing_and_partial_cells_leave_a_claim_open(decide, table):
    check = {"best": {"row": "fair", "among": ["biased"]}}
    holds, detail = decide(check, {A: (0.5, 0.01), B: (0.9, 0.01)})
    assert holds is None and "no number for" in detail
    holds, detail = decide(check, {A: (0.5, 0.01)})
    assert holds is None and "none of its 2 comparisons" in detail
    cells = [
        Cell(*A, "mean", measured=0.5, uncertainty=0.01, status="partial"),
        Cell(*B, "mean", measured=0.9, uncertainty=0.01, status="measured"),
    ]
    compare = {"compare": {"left": LEFT, "op": "<", "right": RIGHT}}
    (result,) = evaluate(dataclasses.replace(table, claims=(claim_of(compare),)), cells, "paper")
    assert result["holds"] is None


def test_order_trend_compare_all_any(decide, table):
    metric = dataclasses.replace(table.metrics["mean"], bounds=(0.0, 1.0))
    values = {A: (0.5, 0.0), B: (0.9, 0.0), ("fair", "large n"): (0.4, 0.0)}
    order = {"order": {"rows": ["fair", "biased"], "metric": "mean", "columns": ["small n"]}}
    falling = {"trend": {"rows": ["fair"], "metric": "mean", "direction": "decreasing"}}
    half = {"compare": {"left": LEFT, "op": "<", "factor": 0.5, "right": RIGHT}}
    table = dataclasses.replace(table, metrics={"mean": metric})
    assert decide(order, values, table)[0] is True
    assert decide(falling, values, table)[0] is True
    assert decide(half, values, table)[0] is False  # 0.5 against 0.45
    assert decide({"compare": {"left": LEFT, "op": "<", "right": 0.6}}, values)[0] is True
    assert decide({"all": [order, half]}, values)[0] is False
    assert decide({"any": [half, order]}, values)[0] is True


def test_the_error_of_a_ratio_is_scaled_by_its_factor(decide):
    check = {"compare": {"left": LEFT, "op": "<", "factor": 0.1, "right": RIGHT}}
    holds, detail = decide(check, {A: (0.5, 0.0), B: (6.3, 0.5)})
    assert holds is True and "t = 2.6" in detail  # 0.13 / (0.1 * 0.5)
    check["compare"]["factor"] = 10
    holds, detail = decide(check, {A: (0.5, 0.0), B: (0.07, 0.0125)})
    assert holds is None and "t = 1.6" in detail  # 0.2 / (10 * 0.0125)


def test_margins_are_checks(decide):
    within = {"within": {"left": LEFT, "right": RIGHT, "margin": 0.2}}
    assert decide(within, {A: (0.5, 0.01), B: (0.6, 0.01)})[0] is True
    assert decide(within, {A: (0.5, 0.01), B: (0.4, 0.01)})[0] is True
    assert decide(within, {A: (0.5, 0.01), B: (0.9, 0.01)})[0] is False
    assert decide(within, {A: (0.5, 0.01), B: (0.69, 0.01)})[0] is None
    gap = {"compare": {"left": RIGHT, "op": ">", "right": LEFT, "margin": 0.3}}
    assert decide(gap, {A: (0.5, 0.01), B: (0.9, 0.01)})[0] is True
    assert decide(gap, {A: (0.5, 0.01), B: (0.7, 0.01)})[0] is False
    best = {"best": {"row": "fair", "among": ["biased"], "column": "small n", "margin": 0.3}}
    assert decide(best, {A: (0.5, 0.01), B: (0.9, 0.01)})[0] is True
    assert decide(best, {A: (0.5, 0.01), B: (0.7, 0.01)})[0] is False


def test_falling_behind_is_a_growing_disadvantage(decide):
    behind = {"falls_behind": {"row": "biased", "behind": "fair", "metric": "mean"}}
    C, D = ("fair", "large n"), ("biased", "large n")
    # both get worse: by 0.1 and by 0.4
    holds, detail = decide(behind, {A: (0.5, 0.01), C: (0.6, 0.01), B: (0.5, 0.01), D: (0.9, 0.01)})
    assert holds is True and "0.3 a column" in detail
    assert decide(
        behind, {A: (0.5, 0.01), C: (0.9, 0.01), B: (0.7, 0.01), D: (0.8, 0.01)}
    )[0] is False  # fmt: skip


def test_comparisons_of_the_same_runs_are_paired(table):
    """Two readings of the same three runs: equal up to a constant that every run shows."""
    first = (0.1, 0.5, 0.9)
    cells = []
    for (row, column), shift in ((A, 0.0), (B, 0.05)):
        noise = (0.0, 0.0005, -0.0005) if shift else (0.0, 0.0, 0.0)
        numbers = [v + shift + e for v, e in zip(first, noise, strict=True)]
        values = [Value(i, number, f"run{i}") for i, number in enumerate(numbers)]
        mean = sum(v.value for v in values) / 3
        cells.append(
            Cell(row, column, "mean", measured=mean, uncertainty=0.2, df=2, values=values,
                 status="measured")
        )  # fmt: skip
    check = {"compare": {"left": LEFT, "op": "<", "right": RIGHT}}
    changed = dataclasses.replace(table, claims=(claim_of(check),), published={})
    assert evaluate(changed, cells, "paper")[0]["holds"] is True
    other = [dataclasses.replace(v, run=f"other{v.seed}") for v in cells[1].values]
    cells[1] = dataclasses.replace(cells[1], values=other)
    assert evaluate(changed, cells, "paper")[0]["holds"] is None


def test_claims_stand_beside_the_papers_own_numbers(table):
    # printed: fair 0.5, 0.5; biased 0.7, 0.9
    def printed(check):
        return in_print(table, claim_of(check))

    assert printed({"best": {"row": "fair", "among": ["biased"]}}) == "holds"
    assert printed({"best": {"row": "biased", "among": ["fair"]}}) == "fails in 2 of 2"
    flat = {"trend": {"rows": ["fair", "biased"], "metric": "mean", "direction": "increasing"}}
    assert printed(flat) == "tied in 1 of 2"
    missing = {"best": {"row": "fair", "among": ["walk"], "column": "small n"}}
    assert printed(missing) == "not printed"
    some = {"order": {"rows": ["fair", "biased", "walk"], "metric": "mean", "column": "small n"}}
    assert printed(some) == "holds where printed; 1 of 2 not printed"
    assert in_print(table, Claim("c", "text", reason="none")) is None


def test_a_claim_is_judged_at_scales_that_can_decide_it(table):
    check = {"best": {"row": "fair", "among": ["biased"]}}
    cells = [
        Cell(row, column, "mean", measured=value, uncertainty=0.0, status="measured")
        for row, value in (("fair", 0.5), ("biased", 0.9))
        for column in ("small n", "large n")
    ]

    def holds(scale, **claimed):
        changed = dataclasses.replace(table, claims=(claim_of(check, **claimed),))
        result = evaluate(changed, cells, scale)[0]
        return result["holds"], result["detail"]

    assert holds("paper", scales=("paper",))[0] is True
    assert holds("small", scales=("paper",))[0] is None
    assert holds("small")[0] is True  # it has the paper's setting
    assert holds("smoke") == (None, "smoke: not judged")
    miniature = dataclasses.replace(table.scales["small"], compare=False)
    table = dataclasses.replace(table, scales={**table.scales, "small": miniature})
    assert holds("small") == (None, "miniature: not judged")
    decides = dataclasses.replace(miniature, decides=True)
    table = dataclasses.replace(table, scales={**table.scales, "small": decides})
    assert holds("small")[0] is True
    result = evaluate(dataclasses.replace(table, claims=(claim_of(check),)), cells, "paper", "why")
    assert (result[0]["holds"], result[0]["detail"]) == (None, "why")


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("{beste: {row: fair}}", "unknown key 'beste'"),
        ("{best: {}}", "lacks 'row'"),
        ("{best: {row: nobody}}", "there is no row 'nobody'"),
        ("{order: {rows: [fair, biased], metric: median}}", "there is no metric 'median'"),
        ("{trend: {rows: [fair], metric: mean, direction: sideways}}", "increasing"),
        ("{trend: }", "a check is one of"),
        ("{all: [{trend: }]}", "a check is one of"),
        ("{compare: {left: 1, op: '<', right: 2}}", "must be a mapping"),
        ("{compare: {left: {row: fair, column: small n, metric: mean}, op: '=', right: 2}}", "op"),
        ("{compare: {left: {row: fair, column: x, metric: mean}, op: '<', right: 2}}", "no cell"),
        ("{compare: {left: {row: fair, column: small n, metric: mean}, op: '<', right: 1, "
         "factor: 2}}", "can be negative"),
        ("{falls_behind: {row: fair, behind: biased}}", "lacks 'metric'"),
        ("[]", "must be a mapping"),
        ("{}", "a check is one of"),
    ],
)  # fmt: skip
def test_a_misspelled_check_names_file_and_line(tmp_path, check, words):
    path = tmp_path / "t.yaml"
    text = toys.TABLE.replace("check: {best: {row: fair}}", f"check: {check}")
    assert yaml.safe_load(text)
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        parse("toy/t", path)
    line = 1 + text[: text.index("id: lowest")].count("\n")
    assert words in str(caught.value) and f"{path} line {line}: " in str(caught.value)
    assert "\n" not in str(caught.value)
