"""Ranks, Friedman's test and the critical difference, by hand and against scipy."""

import itertools
import math

import pytest
from scipy import stats

from jumpbench.tables.judging.ranks import ranking

ORDER = "abcde"
SAME = {f"p{i}": {name: 1.0 + j for j, name in enumerate(ORDER)} for i in range(10)}


def test_the_same_order_everywhere():
    """chi2 = N (k - 1) at its largest; pairs differ by whole ranks, whose error is 1 / sqrt(2)."""
    found = ranking(SAME)
    assert found.mean == dict(zip(ORDER, (1, 2, 3, 4, 5), strict=True))
    assert found.chi2 == pytest.approx(40) and found.p == pytest.approx(stats.chi2.sf(40, 4))
    error = math.sqrt(5 * 6 / 60)
    # 3 pairs differ by 3 or 4 ranks and 3 by 2; Holm stops at the first of those that differ by 1.
    decided = 6
    assert found.critical == pytest.approx(error * stats.norm.isf(0.025 / (10 - decided)))
    assert 1 < found.critical < 2
    assert found.alike == [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]


def test_holm_on_pairs_is_the_critical_difference():
    errors = {
        f"p{i}": {name: (7 * i + 3 * j * j) % 11 + 2.0 * j for j, name in enumerate(ORDER)}
        for i in range(9)
    }
    found = ranking(errors)
    assert found.p < 0.05
    pairs = {
        pair: abs(found.mean[pair[0]] - found.mean[pair[1]])
        for pair in itertools.combinations(ORDER, 2)
    }
    error, decided = math.sqrt(5 * 6 / 54), set()
    for k, (pair, gap) in enumerate(sorted(pairs.items(), key=lambda item: -item[1])):
        if 2 * stats.norm.sf(gap / error) > 0.05 / (10 - k):
            break
        decided.add(pair)
    assert {pair for pair, gap in pairs.items() if gap > found.critical} == decided
    assert 0 < len(decided) < 10


def test_ties_missing_numbers_and_too_few_problems():
    errors = {"p": {"a": 1.0, "b": 1.0, "c": 2.0, "d": 0.5}, "q": {"a": 1.0, "b": 2.0, "c": 3.0}}
    found = ranking(errors)
    assert found.ranks["p"] == {"a": 2.5, "b": 2.5, "c": 4.0, "d": 1.0}
    assert found.mean == {"a": 1.25, "b": 1.75, "c": 3.0} and found.samplers == [*"abcd"]
    assert found.p > 0.05 and found.critical == math.inf and found.alike == [("a", "b", "c")]
    assert ranking({"p": errors["p"]}).p is None
    assert ranking({"p": {"a": 1.0, "b": 2.0}, "q": {"a": 2.0, "b": 1.0}}).p is None
    level = {name: 1.0 for name in ORDER}
    assert ranking({"p": level, "q": level}).p is None
    assert ranking({}).samplers == [] and ranking({"p": {"a": 1.0}, "q": {"b": 1.0}}).mean == {}
