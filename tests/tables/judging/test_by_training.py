"""What jumps from one training to the next is counted, not averaged."""

from statistics import fmean

import pytest

from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.judging.comparisons import Contrast, Estimate
from jumpbench.tables.judging.levels import two_sided_level
from jumpbench.tables.judging.spreads import saturated_spread
from jumpbench.tables.language.metric import Metric


def trained(values, by_training=True):
    """The mean of some trainings."""
    return Estimate(fmean(values), by_seed=dict(enumerate(values)), by_training=by_training)


def test_what_jumps_between_trainings_is_counted():
    """The exact sign test: six trainings that agree, or eight of nine, where t is sure of three."""
    close = [0.010, 0.011, 0.009]
    averaged = Contrast(((-1.0, trained(close, by_training=False)),), 0.1, "a < 0.1")
    assert averaged.p_value() < two_sided_level(2.0)
    for lost, n, expected in [(0, 3, 0.25), (0, 5, 1 / 16), (0, 6, 1 / 32), (1, 9, 20 / 512)]:
        values = [0.5] * lost + (close * 3)[: n - lost]
        counted = Contrast(((-1.0, trained(values)),), 0.1, "a < 0.1")
        assert counted.votes == (n - lost, lost) and counted.is_positive
        assert counted.p_value() == pytest.approx(expected) and counted.t() is None
        assert counted.unknown == f"in {n - lost} of {n} trainings"


def test_equal_trainings_count_for_neither_side_and_most_seeds_give_the_sign():
    """Between rows, seed by seed; one large number does not outvote two small ones."""
    ours, theirs = trained([0.3, 0.1, 0.1, 0.5]), trained([0.0, 0.2, 0.2, 0.5])
    contrast = Contrast(((1.0, theirs), (-1.0, ours)), 0.0, "ours < theirs")
    assert contrast.gap < 0 and contrast.votes == (2, 1) and contrast.is_positive
    assert contrast.p_value() == 1.0
    exact = Contrast(
        ((1.0, Estimate(0.7, 0.0, by_training=True)), (-1.0, Estimate(0.5, 0.0))), 0, ""
    )
    assert not exact.is_counted and exact.p_value() == 0.0


def test_a_claim_about_lost_modes_needs_six_trainings():
    metric = Metric("modes", better="lower", bounds=(0.0, 0.5), by_training=True)
    for n, expected in ((3, None), (5, None), (6, True)):
        kept = [Value(seed, 0.002 * seed, "r") for seed in range(n)]
        cell = Cell("a", "c", "modes", measured=0.0, status="measured", values=kept)
        contrast = Contrast(((-1.0, cell.estimate(metric, False, "here")),), 0.1, "kept")
        assert (contrast.p_value() <= two_sided_level(2.0)) is bool(expected)
        assert saturated_spread([0.5] * n, metric, 2048) is None
