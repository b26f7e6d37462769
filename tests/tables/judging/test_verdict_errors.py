"""How often a verdict on several comparisons is wrong: never more than at the stated level."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from jumpbench.tables.judging.claims import decide
from jumpbench.tables.judging.comparisons import Contrast, Estimate
from jumpbench.tables.judging.levels import two_sided_level
from jumpbench.tables.judging.tree import Tree

TABLE = SimpleNamespace(sigmas=2.0)
LEVEL, DRAWS = two_sided_level(2.0), 400
MOST = DRAWS * LEVEL + 3 * math.sqrt(DRAWS * LEVEL)  # three standard deviations above the level


def verdicts(joined, gaps, shared=0.0):
    """(holds, fails) in so many draws of three seeds, with these true gaps of unit spread.

    ``shared``: the part of the spread that all comparisons have in common.
    """
    generator = np.random.default_rng(0)
    holds = fails = 0
    for _ in range(DRAWS):
        noise = math.sqrt(1 - shared) * generator.normal(size=(len(gaps), 3))
        noise += math.sqrt(shared) * generator.normal(size=3)
        values = np.asarray(gaps)[:, None] + noise
        leaves = tuple(
            Contrast(((1.0, Estimate(v.mean(), by_seed=dict(enumerate(v.tolist())))),), 0.0, "")
            for v in values
        )
        holds_now, _ = decide(TABLE, Tree(joined, leaves))
        holds, fails = holds + (holds_now is True), fails + (holds_now is False)
    return holds, fails


@pytest.mark.parametrize("shared", [0.0, 0.9])
@pytest.mark.parametrize("joined", ["all", "any"])
def test_a_verdict_is_rarely_wrong_where_nothing_is_true(joined, shared):
    holds, fails = verdicts(joined, [0.0] * 4, shared)
    assert holds <= MOST and fails <= MOST


def test_what_needs_all_holds_wrongly_no_more_often_than_its_one_false_part():
    """Three comparisons are plain, the fourth is no difference: each is tested at the level."""
    holds, fails = verdicts("all", [1000.0, 1000.0, 1000.0, 0.0])
    assert 0 < holds <= MOST / 2 + 3 * math.sqrt(MOST) and fails <= MOST


def test_what_needs_all_holds_as_often_as_its_parts_do():
    """Sharing the level would cost half of these."""
    gap = 9.0 / math.sqrt(3)
    (alone, _), (holds, _) = verdicts("all", [gap]), verdicts("all", [gap] * 4, shared=0.95)
    assert holds > 0.8 * alone > 0.4 * DRAWS


def test_what_needs_any_fails_only_if_every_part_does(monkeypatch):
    monkeypatch.setattr(f"{__name__}.DRAWS", 20)
    assert verdicts("any", [1000.0, -1000.0]) == (20, 0)
    assert verdicts("any", [-1000.0, -1000.0]) == (0, 20)
