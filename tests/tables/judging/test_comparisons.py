"""Each rule that decides a claim or a verdict, against its sentence."""

import math
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy import stats

from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.judging.comparisons import COMMON_SEEDS, Contrast, Estimate
from jumpbench.tables.judging.levels import holm, quantile, two_sided_level
from jumpbench.tables.judging.spreads import Samples, samples_of, saturated_spread, seed_spread
from jumpbench.tables.language.metric import Metric


def difference(a: Estimate, b: Estimate) -> Contrast:
    """``b - a``, said to be positive."""
    return Contrast(((1.0, b), (-1.0, a)), 0.0, "a < b")


def of_seeds(values, seeds=None, **known):
    """The mean of some runs, by seed; nothing else is known of its error."""
    by_seed = dict(zip(seeds or range(len(values)), map(float, values), strict=True))
    return Estimate(sum(by_seed.values()) / len(by_seed), by_seed=by_seed, **known)


def test_runs_are_paired_by_their_seeds():
    """Mean and standard deviation of the contrast's value per seed, Student's t with n - 1."""
    a = np.array([10.0, 20.0, 30.0, 40.0])
    b = a + np.array([1.0, 1.2, 0.9, 1.1])
    contrast = difference(of_seeds(a), of_seeds(b))
    expected = stats.ttest_rel(b, a)
    assert contrast.t() == pytest.approx(expected.statistic, rel=1e-9)
    assert contrast.p_value() == pytest.approx(expected.pvalue, rel=1e-9)
    assert contrast.error() == (pytest.approx(stdev(b - a) / 2), 3)


def test_a_contrast_is_taken_at_common_seeds_alone():
    """The seeds that one row has and the other has not change neither the gap nor its error."""
    a = of_seeds([1.0, 1.2, 1.1, 90.0], seeds=[0, 1, 2, 7])
    b = of_seeds([2.0, 2.3, 2.2], seeds=[0, 1, 2])
    contrast = difference(a, b)
    assert contrast.seeds == [0, 1, 2]
    assert contrast.gap == pytest.approx(np.mean([1.0, 1.1, 1.1]))
    assert contrast.error() == (pytest.approx(stdev([1.0, 1.1, 1.1]) / math.sqrt(3)), 2)


def test_one_common_seed_decides_nothing():
    one = difference(of_seeds([0.1]), of_seeds([0.9]))
    assert one.t() is None and one.p_value() is None
    apart = difference(of_seeds([0.1, 0.2], seeds=[0, 1]), of_seeds([0.9, 0.8], seeds=[1, 2]))
    assert apart.seeds == [1] and apart.p_value() is None
    two = difference(of_seeds([0.1, 0.12]), of_seeds([0.9, 0.91]))
    assert COMMON_SEEDS == 2 and two.p_value() == pytest.approx(stats.ttest_rel(*EQUAL).pvalue)


EQUAL = ([0.9, 0.91], [0.1, 0.12])


def test_numbers_that_are_equal_in_every_seed_have_no_spread():
    same = difference(of_seeds([0.1, 0.1, 0.1]), of_seeds([0.2, 0.2, 0.2]))
    assert same.p_value() is None
    shifted = difference(of_seeds([0.1, 0.3, 0.7]), of_seeds([0.2, 0.4, 0.8]))  # 0.1 in each
    assert shifted.error() == (None, math.inf)


def test_beside_a_constant_the_spread_is_no_less_than_what_the_samples_of_a_run_give():
    a, b = of_seeds([0.1, 0.2], sampling=0.5), of_seeds([0.1001, 0.2002], sampling=0.5)
    alone = Contrast(((1.0, a),), -0.3, "a > 0.3")
    assert alone.error() == (pytest.approx(0.5 / math.sqrt(2)), 1)
    assert difference(a, b).error()[0] < 0.001  # they may have the same samples


def test_errors_of_the_samples_add_up_and_add_to_the_spread():
    """Whatever the two runs have in common; to the spread between seeds in quadrature."""
    a, b = Estimate(0.5, 0.02, by_seed={0: 0.5}), Estimate(0.9, 0.03, by_seed={0: 0.9})
    assert difference(a, b).error() == (None, math.inf)  # the next training is another one
    twice = [replace(e, by_seed={0: e.value, 1: e.value}) for e in (a, b)]
    assert difference(*twice).error() == (pytest.approx(0.05), math.inf)
    assert difference(twice[0], Estimate(0.9, 0.0)).error() == (pytest.approx(0.02), math.inf)
    assert difference(twice[0], of_seeds([0.9, 0.9])).error() == (None, math.inf)
    saturated = Estimate(1.0, 0.01, 2.0, {0: 1.0, 1: 1.0, 2: 1.0})
    error, df = difference(of_seeds([0.5, 0.6, 0.4]), saturated).error()
    assert error == pytest.approx(math.hypot(0.1 / math.sqrt(3), 0.01)) and 2 <= df < 3


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
def test_equal_rows_are_told_apart_as_seldom_as_stated_whatever_they_share(correlation):
    """Two rows of equal mean, 3 or 5 seeds: wrong in 4.55 % of tables, three deviations allowed.

    Rows that share random numbers are correlated seed by seed, positively or negatively. Without
    pairs, Welch's test is wrong far more often (negative), or decides far less (positive).
    """
    generator, tables, level = np.random.default_rng(0), 1500, two_sided_level(2.0)
    covariance = [[1.0, correlation], [correlation, 1.0]]
    for n in (3, 5):
        draws = generator.multivariate_normal([0.0, 0.0], covariance, size=(tables, n))
        wrong = sum(
            difference(of_seeds(a), of_seeds(b)).p_value() < level for a, b in draws.swapaxes(1, 2)
        )
        deviation = math.sqrt(tables * level * (1 - level))
        assert abs(wrong - tables * level) <= 3 * deviation
    unpaired = stats.ttest_ind(draws[..., 0], draws[..., 1], axis=1, equal_var=False).pvalue
    share = np.mean(unpaired < level) / level
    assert (share > 2) if correlation < 0 else (share < 0.2) if correlation > 0 else (share < 1.2)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Estimate(0.5, 0.0), Estimate(0.5, 0.0)),  # a tie
        (Estimate(1.88e-15, 0.0), Estimate(0.0, 0.0)),  # a tie in float64
        (Estimate(0.5, None), Estimate(0.5 + 1e-9, None)),  # no seed, no spread known
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
    contrast = Contrast(((0.5, of_seeds([1.0, 1.4])), (-1.0, of_seeds([0.3, 0.1]))), 0.0, "")
    assert contrast.error() == (pytest.approx(stdev([0.2, 0.6]) / math.sqrt(2)), 1)


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
        sides = [of_seeds(row) for row in draws]
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


SHARE = Metric("share", bounds=(0.0, 100.0), share=True)


def test_a_saturated_metric_has_no_assumed_spread_but_that_of_its_samples():
    assert saturated_spread([100.0, 100.0], SHARE, 500) == (0.1, 2.0)
    assert saturated_spread([99.9], SHARE, 500) is None
    assert saturated_spread([100.0], Metric("share"), 500) is None
    assert saturated_spread([100.0], SHARE, None) is None
    # 100 percent of N lists: a true share of 99.9 would show it with probability .999^N
    for n in (4000, 10_000, 30_000):
        error, df = saturated_spread([100.0], SHARE, n)
        assert stats.t.sf(0.1 / error, df) >= 0.999**n


def test_replicates_that_a_scale_names_decide_at_one_seed():
    """A z-test of two means, on the safe side where the replicates of both have much in common."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(2000, 1, 50))
    a, b = (common + rng.normal(size=(2000, 2, 50))).transpose(1, 0, 2)
    wrong = 0
    for x, y in zip(a, b, strict=True):  # no difference in truth
        errors = [Samples(z.std(ddof=1) / 50**0.5) for z in (x, y)]
        estimates = [of_seeds([z.mean()], samples=e) for z, e in zip((x, y), errors, strict=True)]
        p = difference(*estimates).p_value()
        assert p is not None
        wrong += p < 0.0455
    assert wrong / 2000 < 0.0455
    tenth = Samples(0.1)
    one, bare = of_seeds([0.1], samples=tenth), of_seeds([0.9])
    assert difference(one, of_seeds([0.9], samples=tenth)).t() == pytest.approx(0.8 / 0.02**0.5)
    assert difference(one, bare).t() is None  # of one of them nothing is known
    seeds = [of_seeds(z, samples=Samples(9.0)) for z in ([0.1, 0.2], [0.9, 1.1])]
    assert difference(*seeds).error() == (pytest.approx(stdev([0.8, 0.9]) / 2**0.5), 1)


def of_images(values, step=0.0):
    """One run whose numbers of single images are known, with the error of their mean."""
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return of_seeds([np.mean(values)], samples=Samples(float(error), tuple(values), step))


def test_replicates_are_paired_where_every_cell_has_their_numbers():
    """Student's paired t; without the numbers of one side, a z-test of two means."""
    rng = np.random.default_rng(1)
    a = rng.normal(20, 3, size=10)
    b = a + rng.normal(0.5, 0.3, size=10)
    paired = difference(of_images(a), of_images(b))
    expected = stats.ttest_rel(b, a)
    assert paired.t() == pytest.approx(expected.statistic)
    assert paired.p_value() == pytest.approx(expected.pvalue) and paired.error()[1] == 9
    bare = of_seeds([b.mean()], samples=Samples(float(b.std(ddof=1) / 10**0.5)))
    error = math.hypot(a.std(ddof=1), b.std(ddof=1)) / 10**0.5
    assert difference(of_images(a), bare).error() == (pytest.approx(error), math.inf)
    assert difference(of_images(a), of_images(b[:9])).error()[1] == math.inf  # other images
    below = Contrast(((1.0, Estimate(21.0, 0.0)), (-1.0, of_images(a))), 0.0, "a < 21")
    assert below.t() == pytest.approx(stats.ttest_1samp(21 - a, 0).statistic)


def test_equal_replicates_may_hide_one_that_is_a_step_away():
    """24 samples without a wrong pixel: the error is that of a share with one hit and one miss."""
    one = Estimate(1.0, 0.0)
    error = math.sqrt(25 / 26 / 26 / 24)
    for clean in (of_images(np.zeros(24), step=1.0), of_seeds([0.0], samples=Samples(error))):
        contrast = Contrast(((1.0, one), (-1.0, clean)), 0.0, "wrong < 1")
        assert contrast.error() == (pytest.approx(error), math.inf)
    unknown = Contrast(((1.0, one), (-1.0, of_images(np.zeros(24)))), 0.0, "wrong < 1")
    assert unknown.t() is None
    wrong = Metric("wrong", sample_std="std", sample_step=1.0)
    assert samples_of(wrong, 0.0, 24, 0.0, None) == Samples(pytest.approx(error), (), 1.0)
    assert samples_of(replace(wrong, sample_step=None), 0.0, 24, 0.0, None).error is None


def test_error_of_a_share_and_of_a_mean_over_samples():
    accuracy = Metric("accuracy", bounds=(0.0, 100.0), share=True)
    cell = Cell("r", "c", "m", measured=80.0, n_samples=98, status="measured")
    p = (0.8 * 98 + 1) / 100
    error = cell.estimate(accuracy, False, "", True).samples.error
    assert error == pytest.approx(100 * math.sqrt(p * (1 - p) / 98))
    none = replace(cell, measured=0.0).estimate(accuracy, False, "", True).samples.error
    assert none == pytest.approx(100 * math.sqrt(0.01 * 0.99 / 98))
    psnr = Metric("psnr", sample_std="psnr_std")
    assert cell.estimate(psnr, False, "", True).samples.error is None
    spread = replace(cell, std=7.0).estimate(psnr, False, "", True)
    assert spread.samples.error == pytest.approx(7 / math.sqrt(98))
    assert replace(cell, std=7.0).estimate(psnr, False, "").samples.error is None


def test_a_print_without_digits_does_not_blur_a_share_of_many_samples():
    """Of 2,560 lists, three seeds, beside 99.9: no miss has an error of 0.013, two misses have that
    of a share, and half a unit of the printed "100" is no part of it."""
    accuracy = Metric("accuracy", bounds=(0.0, 100.0), share=True, seed_std=0.5)
    cell = Cell("r", "c", "m", paper=100.0, n_samples=2560, status="measured")
    for numbers, error in (
        ([100.0] * 3, 100 / (3 * 2560)),
        ([100.0, 100.0, 99.921875], 100 * math.sqrt(p_of(2) * (1 - p_of(2)) / 2560 / 3)),
    ):
        values = [Value(seed, number, "run") for seed, number in enumerate(numbers)]
        one = replace(cell, measured=fmean(numbers), values=values)
        contrast = Contrast(((1.0, one.estimate(accuracy, False, "")),), -99.9, "c > 99.9")
        assert contrast.error()[0] == pytest.approx(error)


def p_of(misses):
    """A share of 3 x 2,560 with so many misses, one hit and one miss added to each 2,560."""
    return (2560 * (1 - misses / 7680) + 1) / 2562


def test_a_printed_number_is_known_to_half_a_unit_of_its_last_digit():
    """5.332 is not above a printed 5.33; 5.34 is, by what lies beyond 5.335."""
    printed = Estimate(5.33, 0.0, rounding=0.005)
    near = difference(printed, of_seeds([5.3315, 5.332, 5.3325]))
    assert near.gap > 0 and near.is_tie and near.p_value() is None
    far = difference(printed, of_seeds([5.339, 5.340, 5.341]))
    assert far.t() == pytest.approx(0.005 / (0.001 / math.sqrt(3)))
