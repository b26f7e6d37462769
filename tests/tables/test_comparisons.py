"""Each rule that decides a claim or a verdict, against its sentence."""

import math
from statistics import stdev

import numpy as np
import pytest
from scipy import stats

from jumpbench.tables.comparisons import (
    Contrast,
    Estimate,
    holm,
    quantile,
    saturated_spread,
    seed_spread,
    two_sided_level,
)


def difference(a: Estimate, b: Estimate) -> Contrast:
    """``b - a``, said to be positive."""
    return Contrast(((1.0, b), (-1.0, a)), 0.0, "a < b")


def of_runs(values, prefix="r", **known):
    """The mean of some runs with its measured error."""
    n = len(values)
    by_run = {f"{prefix}{i}": v for i, v in enumerate(values)}
    mean = sum(values) / n
    return Estimate(mean, stdev(values) / math.sqrt(n), n - 1, by_run, **known)


def test_two_samples_are_compared_by_welchs_test():
    a, b = [0.51, 0.55, 0.49, 0.52, 0.50], [0.60, 0.70, 0.55, 0.66, 0.58, 0.71]
    contrast = difference(of_runs(a, "a"), of_runs(b, "b"))
    expected = stats.ttest_ind(b, a, equal_var=False)
    assert contrast.t() == pytest.approx(expected.statistic, rel=1e-12)
    assert contrast.p_value() == pytest.approx(expected.pvalue, rel=1e-9)


def test_cells_of_the_same_runs_are_compared_run_by_run():
    a = np.array([10.0, 20.0, 30.0, 40.0])
    b = a + np.array([1.0, 1.2, 0.9, 1.1])
    paired = difference(of_runs(list(a)), of_runs(list(b)))
    expected = stats.ttest_rel(b, a)
    assert paired.t() == pytest.approx(expected.statistic, rel=1e-9)
    assert paired.p_value() == pytest.approx(expected.pvalue, rel=1e-9)
    apart = difference(of_runs(list(a), "a"), of_runs(list(b), "b"))
    assert apart.p_value() > 0.5 > 1e-3 > paired.p_value()


def test_pairs_keep_the_rounding_of_the_published_number():
    a, b = of_runs([0.1, 0.2], resolution=0.05), of_runs([0.1001, 0.2002], resolution=0.05)
    assert difference(a, b).error() == (pytest.approx(math.hypot(0.05, 0.05) / math.sqrt(2)), 1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Estimate(0.5, 0.0), Estimate(0.5, 0.0)),  # a tie
        (Estimate(1.88e-15, 0.0), Estimate(0.0, 0.0)),  # a tie in float64
        (Estimate(0.5, None), Estimate(0.5 + 1e-9, None)),  # one seed each, no spread known
        (Estimate(0.50, 0.001), Estimate(0.51, None)),  # one side unknown is not zero
        (Estimate(0.5, 0.01), Estimate(None, lacking="missing")),
    ],
)
def test_what_cannot_be_decided_has_no_p_value(left, right):
    assert difference(left, right).p_value() is None
    assert difference(right, left).p_value() is None


def test_exact_numbers_are_decided_by_their_sign():
    assert difference(Estimate(0.003, 0.0), Estimate(0.005, 0.0)).p_value() == 0.0


def test_errors_are_scaled_with_their_weights():
    contrast = Contrast(((0.5, Estimate(1.0, 0.4)), (-1.0, Estimate(0.3, 0.1))), 0.0, "")
    assert contrast.error() == (pytest.approx(math.hypot(0.2, 0.1)), math.inf)


def test_holms_procedure_steps_down():
    # sorted: .010 <= .05/4, .013 <= .05/3, .03 > .05/2: the third and fourth are open
    assert holm([0.03, 0.010, 0.04, 0.013], 0.05) == [False, True, False, True]
    assert holm([0.04], 0.05) == [True]
    assert holm([0.04, None], 0.05) == [False, False]  # a missing test is a member all the same
    assert holm([0.02, 0.04], 0.05) == [True, True]
    assert holm([], 0.05) == []


def test_equal_methods_are_rarely_told_apart():
    """Nine comparisons of equal methods at five seeds: in at most 5 % of tables, not in 19 %."""
    generator, wrong = np.random.default_rng(0), 0
    for _ in range(300):
        draws = generator.normal(size=(10, 5))
        sides = [of_runs(list(row), f"{i}-") for i, row in enumerate(draws)]
        p_values = [difference(sides[0], side).p_value() for side in sides[1:]]
        wrong += any(holm(p_values, two_sided_level(2.0)))
    assert wrong <= 15 + 3 * math.sqrt(15)  # three standard deviations above the stated level


def test_quantiles_have_the_same_tail_at_few_seeds():
    assert quantile(2.0, math.inf) == 2.0
    assert stats.t.sf(quantile(2.0, 4), 4) == pytest.approx(stats.norm.sf(2.0))
    assert quantile(2.0, 4) > 2.8


def test_spread_below_five_seeds_is_at_least_the_stated_one():
    values = [0.50, 0.51, 0.52]
    assert seed_spread(values, 0.05) == (0.05, math.inf)
    assert seed_spread(values, 0.001) == (pytest.approx(0.01), 2)
    assert seed_spread([0.5], 0.05) == (0.05, math.inf)
    assert seed_spread([0.5], None) == (None, math.inf)


def test_spread_of_five_seeds_is_the_measured_one():
    values = [0.50, 0.51, 0.52, 0.50, 0.51]
    assert seed_spread(values, 0.5) == (pytest.approx(stdev(values)), 4)


def test_spread_is_never_zero_and_never_below_the_rounding():
    same = [0.150] * 5
    assert seed_spread(same, 0.004) == (0.004, math.inf)
    assert seed_spread(same, None) == (None, math.inf)
    assert seed_spread(same, None, 0.0005) == (0.0005, math.inf)
    assert seed_spread([0.15, 0.15], None, 0.0005) == (None, math.inf)
    assert seed_spread([0.1500, 0.1501, 0.15, 0.15, 0.15], None, 0.0005)[0] == 0.0005


def test_a_saturated_metric_has_no_assumed_spread_but_that_of_its_samples():
    assert saturated_spread([100.0, 100.0], (0, 100), 500) == (0.1, 2.0)
    assert saturated_spread([99.9], (0, 100), 500) is None
    assert saturated_spread([100.0], None, 500) is None
    assert saturated_spread([100.0], (0, 100), None) is None
    # 100 percent of N lists: a true share of 99.9 would show it with probability .999^N
    for n in (4000, 10_000, 30_000):
        error, df = saturated_spread([100.0], (0, 100), n)
        assert stats.t.sf(0.1 / error, df) >= 0.999**n
