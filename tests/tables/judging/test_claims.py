import dataclasses
import math
from statistics import fmean

import pytest
from claimed import claim_of, of_seeds

from jumpbench.tables.judging.cells import Cell, Value, verdict
from jumpbench.tables.judging.claims import evaluate
from jumpbench.tables.language.scale import Heads

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


def test_looking_again_while_seeds_are_added_costs_level(decide):
    """2.4 standard errors are beyond 0.0455, and not beyond a third of it (2.43)."""
    check = {"best": {"row": "fair", "among": ["biased"], "columns": ["small n"]}}
    values = {A: (0.5, 0.06), B: (0.74, 0.08)}
    assert decide(check, values)[0] is True
    assert decide(check, values, looks=3)[0] is None


def test_a_tie_an_unknown_spread_and_an_infinite_number_are_open(decide):
    check = {"compare": {"left": LEFT, "op": "<", "right": RIGHT}}
    assert decide(check, {A: (0.5, 0.0), B: (0.5, 0.0)})[0] is None
    assert "equal" in decide(check, {A: (0.5, 0.0), B: (0.5, 0.0)})[1]
    holds, detail = decide(check, {A: (1.88e-15, 0.0), B: (0.0, 0.0)})
    assert holds is None and "0 and 0" in detail and "e-15" not in detail
    for errors in ((None, None), (0.001, None), (None, 0.001)):
        holds, detail = decide(check, {A: (0.50, errors[0]), B: (0.51, errors[1])})
        assert holds is None and "1 common seed: no spread is known" in detail
    assert decide(check, {A: (0.5, 0.1), B: (math.inf, 0.1)})[0] is None


def test_an_assumed_spread_and_one_seed_decide_nothing(table):
    """The stated spread gives a cell its verdict, and no claim."""
    assert table.metrics["mean"].seed_std == 0.02
    check = {"compare": {"left": LEFT, "op": "<", "right": RIGHT}}
    claimed = dataclasses.replace(table, claims=(claim_of(check),))
    for n, expected in ((1, None), (2, True)):
        cells = [
            Cell(*place, "mean", measured=value, uncertainty=0.02, status="measured", n_seeds=n,
                 values=[Value(seed, value + 1e-3 * value * seed, "r") for seed in range(n)])
            for place, value in ((A, 0.1), (B, 0.9))
        ]  # fmt: skip
        result = evaluate(dataclasses.replace(claimed, published={}), cells, "paper")[0]
        assert result["holds"] is expected, result["detail"]
    detail = evaluate(claimed, _first_seed(cells), "paper")[0]["detail"]
    assert detail == "open: 1 common seed: no spread is known; 2 would show one"
    mean, spread, df = 0.1, 0.02, None
    published = table.published_number(*A, "mean")
    assert verdict(table, table.metrics["mean"], mean, spread, df, 1, published) == "better"


def test_ours_against_a_number_in_print(table):
    """Exact as printed; at a scale that calls the column otherwise there is nothing to compare."""
    value = table.published_value(*A, "mean")
    check = {"compare": {"left": LEFT, "op": "<", "right": {**LEFT, "printed": True}}}
    claimed = dataclasses.replace(table, claims=(claim_of(check),))
    cells = [Cell(*A, "mean", measured=value - 0.1, values=of_seeds(value - 0.1, 0.01, 0),
                  status="measured")]  # fmt: skip
    (result,) = evaluate(claimed, cells, "paper")
    assert result["holds"] is True and "fair in print" in result["detail"]
    scales = dict(table.scales)
    scales["paper"] = dataclasses.replace(scales["paper"], heads=Heads(columns={A[1]: "tiny n"}))
    (result,) = evaluate(dataclasses.replace(claimed, scales=scales), cells, "paper")
    assert result["holds"] is None and "printed for small n, not tiny n" in result["detail"]


def _first_seed(cells):
    return [dataclasses.replace(cell, values=cell.values[:1]) for cell in cells]


def test_a_metric_on_its_bound_has_the_error_of_its_samples(table):
    """All of 10,000 lists right in two seeds: more than 99 percent, and not more than 99.99."""
    metric = dataclasses.replace(table.metrics["mean"], bounds=(0.0, 100.0), better="higher")
    cells = [Cell(*A, "mean", measured=100.0, n_samples=10_000, status="measured",
                  values=[Value(seed, 100.0, "r") for seed in (0, 1)])]  # fmt: skip
    for bound, expected in ((99.0, True), (99.99, None)):
        check = {"compare": {"left": LEFT, "op": ">", "right": bound}}
        changed = dataclasses.replace(table, metrics={"mean": metric}, claims=(claim_of(check),))
        assert evaluate(changed, cells, "paper")[0]["holds"] is expected


def test_a_claim_holds_part_by_part_and_fails_at_a_level_that_its_parts_share(decide):
    """t = 2.1 decides one comparison alone; of two, both for the claim and neither against it."""
    values = {A: (0.5, 0.0), B: (0.71, 0.1), ("fair", "large n"): (0.5, 0.0),
              ("biased", "large n"): (0.71, 0.1)}  # fmt: skip
    one = {"best": {"row": "fair", "among": ["biased"], "column": "small n"}}
    two = {"best": {"row": "fair", "among": ["biased"]}}
    assert decide(one, values)[0] is True and decide(two, values)[0] is True
    worse = {"best": {"row": "biased", "among": ["fair"]}}
    assert decide(worse, values)[0] is None
    alone = {"best": {"row": "biased", "among": ["fair"], "column": "small n"}}
    assert decide(alone, values)[0] is False
    other = {"best": {**one["best"], "column": "large n"}}
    assert decide({"any": [one, other]}, values)[0] is None  # alternatives share it too


def test_missing_and_partial_cells_leave_a_claim_open(decide, table):
    check = {"best": {"row": "fair", "among": ["biased"]}}
    holds, detail = decide(check, {A: (0.5, 0.01), B: (0.9, 0.01)})
    assert holds is None and "no number for" in detail
    holds, detail = decide(check, {A: (0.5, 0.01)})
    assert holds is None and "none of its 2 comparisons" in detail
    cells = [
        Cell(*A, "mean", measured=0.5, values=of_seeds(0.5, 0.01, 0), status="partial"),
        Cell(*B, "mean", measured=0.9, values=of_seeds(0.9, 0.01, 1), status="measured"),
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


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_a_u_has_an_inner_column_that_is_better_than_both_ends(better, decide, table):
    names = ["first", "second", "third", "last"]
    columns = tuple(dataclasses.replace(table.columns[0], name=name) for name in names)
    mean = dataclasses.replace(table.metrics["mean"], better=better, bounds=None)
    table = dataclasses.replace(table, columns=columns, metrics={"mean": mean})
    check = {"u_shaped": {"rows": ["fair"], "metric": "mean"}}

    def decided(*values):
        signed = (value if better == "lower" else -value for value in values)
        cells = {("fair", name): (v, 0.01) for name, v in zip(names, signed, strict=True)}
        return decide(check, cells, table)[0]

    assert decided(0.5, 0.4, 0.2, 0.3) is True  # the third
    assert decided(0.5, 0.4, 0.3, 0.2) is False and decided(0.2, 0.4, 0.3, 0.5) is False
    assert decided(0.5, 0.4, 0.29, 0.3) is None


def test_the_same_column_is_best_in_every_row(decide, table):
    names = ["first", "second", "third"]
    columns = tuple(dataclasses.replace(table.columns[0], name=name) for name in names)
    table = dataclasses.replace(table, columns=columns)
    check = {"same_best": {"rows": ["fair", "biased"], "metric": "mean"}}
    sign = 1 if table.metrics["mean"].better == "lower" else -1

    def decided(fair, biased):
        rows = {"fair": fair, "biased": biased}
        cells = {
            (row, name): (0.5 + sign * value, 0.01)
            for row, values in rows.items()
            for name, value in zip(names, values, strict=True)
        }
        return decide(check, cells, table)[0]

    assert decided((0.3, 0.1, 0.2), (0.4, 0.0, 0.2)) is True
    assert decided((0.3, 0.1, 0.2), (0.2, 0.3, 0.0)) is False
    assert decided((0.3, 0.1, 0.2), (0.4, 0.1, 0.101)) is None


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
    holds, detail = decide(best, {A: (0.5, 0.01), B: (0.7, 0.01)})
    assert holds is False and "fair < biased by 0.3 (" in detail


def test_a_negative_margin_reads_as_what_a_row_may_be_worse_by(decide):
    best = {"best": {"row": "fair", "among": ["biased"], "column": "small n", "margin": -0.3}}
    assert decide(best, {A: (0.7, 0.01), B: (0.5, 0.01)})[0] is True
    holds, detail = decide(best, {A: (0.9, 0.01), B: (0.5, 0.01)})
    assert holds is False and "fair < biased + 0.3 (" in detail
    more = {"compare": {"left": RIGHT, "op": ">", "right": LEFT, "margin": -0.3}}
    assert decide(more, {A: (0.7, 0.01), B: (0.5, 0.01)})[0] is True
    holds, detail = decide(more, {A: (0.9, 0.01), B: (0.5, 0.01)})
    assert holds is False and "biased > fair (small n, mean) - 0.3:" in detail


def test_falling_behind_is_a_growing_disadvantage(decide):
    behind = {"falls_behind": {"row": "biased", "behind": "fair", "metric": "mean"}}
    C, D = ("fair", "large n"), ("biased", "large n")
    # both get worse: by 0.1 and by 0.4
    holds, detail = decide(behind, {A: (0.5, 0.01), C: (0.6, 0.01), B: (0.5, 0.01), D: (0.9, 0.01)})
    assert holds is True and "0.3 a column" in detail
    assert decide(
        behind, {A: (0.5, 0.01), C: (0.9, 0.01), B: (0.7, 0.01), D: (0.8, 0.01)}
    )[0] is False  # fmt: skip


@pytest.mark.parametrize("runs", ["the same", "others"])
def test_runs_are_compared_seed_by_seed(table, runs):
    """Three runs that differ much, and a row that is .05 above each of them, give or take."""
    first, cells = (0.1, 0.5, 0.9), []
    for (row, column), shift in ((A, 0.0), (B, 0.05)):
        noise = (0.0, 0.0005, -0.0005) if shift else (0.0, 0.0, 0.0)
        numbers = [v + shift + e for v, e in zip(first, noise, strict=True)]
        name = "" if runs == "the same" else row
        values = [Value(i, number, f"{name}{i}") for i, number in enumerate(numbers)]
        cells.append(Cell(row, column, "mean", measured=fmean(numbers), values=values,
                          status="measured"))  # fmt: skip
    check = {"compare": {"left": LEFT, "op": "<", "right": RIGHT}}
    changed = dataclasses.replace(table, claims=(claim_of(check),), published={})
    assert evaluate(changed, cells, "paper")[0]["holds"] is True
    other = [dataclasses.replace(v, seed=v.seed + 2) for v in cells[1].values]
    cells[1] = dataclasses.replace(cells[1], values=other)
    result = evaluate(changed, cells, "paper")[0]
    assert result["holds"] is None and "1 common seed" in result["detail"]


def test_exact_rows_are_decided_by_their_sign_whatever_the_others_have(table):
    """Nothing of such a row is trained or drawn: one seed is all there is to know."""
    check = {"compare": {"left": LEFT, "op": "<", "right": RIGHT}}
    cells = [
        Cell(*A, "mean", measured=0.5, values=[Value(0, 0.5, "a")], status="measured"),
        Cell(*B, "mean", measured=0.51, values=[Value(0, 0.51, "b")], status="measured"),
    ]

    def holds(*names):
        rows = tuple(dataclasses.replace(r, exact=r.name in names) for r in table.rows)
        claims = (claim_of(check),)
        changed = dataclasses.replace(table, rows=rows, claims=claims, published={})
        return evaluate(changed, cells, "paper")[0]["holds"]

    assert holds("fair", "biased") is True
    assert holds("fair") is None and holds() is None
    cells[1] = dataclasses.replace(cells[1], values=of_seeds(0.51, 0.001, 0))
    assert holds("fair") is True  # by the seeds of the other, t = 10


def test_claims_call_rows_and_columns_as_their_scale_does(table):
    heads = Heads(rows={"fair": "even"}, columns={"small n": "n = 500"})
    small = dataclasses.replace(table.scales["small"], heads=heads)
    table = dataclasses.replace(table, scales={**table.scales, "small": small}, published={})
    missing = {"order": {"rows": ["fair", "biased", "walk"], "metric": "mean", "column": "small n"}}
    side = {"row": "fair", "column": "large n", "metric": "mean"}
    checks = [
        ({"best": {"row": "fair", "among": ["biased"], "column": "small n"}},
         "even < biased (n = 500, mean)"),
        ({"compare": {"left": LEFT, "op": "<", "right": RIGHT}}, "even < biased (n = 500, mean)"),
        ({"compare": {"left": LEFT, "op": "<", "right": side}}, "n = 500 < large n (even, mean)"),
        ({"compare": {"left": LEFT, "op": "<", "right": 0.9}}, "even (n = 500, mean) < 0.9"),
        ({"within": {"left": LEFT, "right": RIGHT, "margin": 1.0}}, 
         "even (n = 500, mean) > biased (n = 500, mean) - 1"),
        ({"trend": {"rows": ["fair"], "metric": "mean", "direction": "increasing"}},
         "n = 500 < large n (even, mean)"),
        ({"falls_behind": {"row": "fair", "behind": "biased", "metric": "mean"}},
         "even falls behind biased from n = 500 to large n"),
        (missing, "no number for walk (n = 500, mean)"),
    ]  # fmt: skip
    cells = [
        Cell(row, column, "mean", measured=0.5 + i / 10, values=of_seeds(0.5 + i / 10, 0.001, i),
             status="measured")
        for i, (row, column) in enumerate((A, B, ("fair", "large n"), ("biased", "large n")))
    ]  # fmt: skip
    for check, words in checks:
        changed = dataclasses.replace(table, claims=(claim_of(check),))
        detail = evaluate(changed, cells, "small")[0]["detail"]
        assert words in detail, detail
        assert "small n" not in detail and "fair" not in detail
