"""The sentence behind a comparison: the best row, by seeds and their spread."""

from statistics import fmean, stdev

import pytest

from jumpbench.tables.judging.best_row import best_row
from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.language.metric import Metric
from jumpbench.tables.language.scale import Scale
from jumpbench.tables.language.types import Column, Row, Table

METRIC = Metric("tv", better="lower")


def sentence(partial=(), **rows):
    cells = [
        Cell(
            row=row, column="9 s", metric="tv", measured=fmean(values),
            status="partial" if row in partial else "measured",
            std=stdev(values) if len(values) > 1 else None, n_seeds=len(values), perfect=0.029,
            values=[Value(seed, value, "run") for seed, value in enumerate(values)],
        )
        for row, values in rows.items()
    ]  # fmt: skip
    columns, scales = (Column("9 s"),), {"small": Scale("small")}
    table = Table("compare/x", "t", "", {"tv": METRIC}, (Row("A"),), columns, scales)
    return best_row(table, cells, "9 s", METRIC)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            {"B": [0.096, 0.094, 0.095], "A": [0.031, 0.032, 0.030]},
            "A has the lowest error at 9 s (0.031 ± 0.001, floor 0.029; 3 of 3 seeds); "
            "B is next (0.095 ± 0.001).",
        ),
        (
            {"A": [0.031, 0.033, 0.030], "B": [0.032, 0.031, 0.034], "C": [0.8, 0.8001, 0.8]},
            "At 9 s, 3 seeds cannot tell apart A (0.0313 ± 0.0015) and B (0.0323 ± 0.0015), "
            "floor 0.029; C is next (0.8 ± 5.8e-05).",
        ),
        (
            {"A": [0.031], "B": [0.9]},
            "A has the lowest error at 9 s (0.031, floor 0.029), but how sure that is one seed "
            "does not tell; seeds=3 does.",
        ),
        ({"A": [0.031]}, "A has 0.031 at 9 s, floor 0.029; nothing stands beside it."),
        ({}, "No sampler has a number of every seed at 9 s."),
    ],
)
def test_a_row_is_best_where_the_seeds_tell_it_from_all_others(rows, expected):
    assert sentence(**rows) == expected


def test_a_better_one_that_lost_a_seed_is_named():
    rows = {"A": [0.012, 0.011], "B": [0.10, 0.11, 0.10]}
    lost = "Left out, since a seed of theirs has no number: A (0.0115 ± 0.00071)."
    assert sentence(["A"], **rows).endswith(f"nothing stands beside it. {lost}")
    assert sentence(["A"], A=rows["A"]) == f"No sampler has a number of every seed at 9 s. {lost}"


def test_many_that_cannot_be_told_apart_are_counted():
    rows = {name: [0.1 + k / 100, 0.2 - k / 100] for k, name in enumerate("ABCDE")}
    assert " and 2 more (up to 0.15), floor 0.029." in sentence(**rows)


def test_next_is_a_row_that_is_worse_than_all_that_cannot_be_told_apart():
    """D's seeds differ so much that nothing can be said of it; C is told apart, and is no next."""
    rows = {"A": [0.0100, 0.0101, 0.0102], "C": [0.0300, 0.0303, 0.0301], "D": [0.1, 0.9, 0.5]}
    expected = (
        "At 9 s, 3 seeds cannot tell apart A (0.0101 ± 0.0001) and D (0.5 ± 0.4), floor 0.029."
    )
    assert sentence(**rows) == expected
    assert sentence(**rows, E=[0.8, 0.8001, 0.8]).endswith("; E is next (0.8 ± 5.8e-05).")
