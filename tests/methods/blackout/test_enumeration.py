"""Blackout on enumerable counts: entropies, minimisers, and exact laws of every sampler."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.blackout import losses
from jumpbench.methods.blackout.enumeration import (
    EnumeratedCounts,
    bridge_steps,
    corrector_steps,
    poisson_steps,
    smooth_levels,
    textbook,
    transport_distance,
)
from jumpbench.metrics.histogram import total_variation
from jumpbench.processes.observation_times import FisherTimes

P0 = [0.05, 0, 0.2, 0.1, 0, 0.05, 0.3, 0, 0.3]
EIGHT = EnumeratedCounts(P0)
ENTROPY = 1.574103
LAST = 15.0


def means(counts, grid):
    """The true conditional means, computed once."""
    table = [None, *(counts.lost(grid, k) for k in range(1, grid.steps + 1))]
    return table.__getitem__


def regrets(grid):
    """E[D log(D / y*)] of every time (T + 1,): the regression's minimum, up to what has no y."""
    table = [0.0]
    lost = (EIGHT.states.unsqueeze(1) - EIGHT.states).clamp(min=0).squeeze(-1).double()
    own = torch.special.xlogy(lost, lost)
    for k in range(1, grid.steps + 1):
        joint = EIGHT.joint(grid, k).exp()
        y = (joint * lost).sum(0) / joint.sum(0)
        table.append(float((joint * (own - torch.special.xlogy(lost, y))).sum()))
    return torch.tensor(table, dtype=torch.float64)


def test_entropy():
    assert math.isclose(EIGHT.entropy(), ENTROPY, abs_tol=1e-6)


@pytest.mark.parametrize(
    ("steps", "nll_finite", "nll_inst", "finite", "inst"),
    [
        (10, 1.12558, 0.62521, 0.68188, 0.26524),
        (100, 1.50744, 1.42833, 0.57174, 0.52318),
        (1000, 1.56724, 1.55892, 0.55896, 0.55407),
        (4000, 1.57238, 1.57029, 0.55789, 0.55666),
    ],
)
def test_values_of_every_weighting(steps, nll_finite, nll_inst, finite, inst):
    """The likelihood weights tend to H(p0) from below; the paper's to 0.557527."""
    grid = FisherTimes(steps, LAST)
    expected = {
        losses.finite_time_likelihood: nll_finite,
        losses.instantaneous_likelihood: nll_inst,
        losses.finite_time: finite,
        losses.instantaneous: inst,
    }
    of_times = regrets(grid)
    for weight, value in expected.items():
        found = float(weight(grid)[1:] @ of_times[1:])
        assert math.isclose(found, value, abs_tol=6e-6), weight.__name__
    assert nll_finite < ENTROPY and nll_inst < nll_finite


def test_weights_of_the_paper():
    grid = FisherTimes(1000, LAST)
    finite, inst = losses.finite_time(grid), losses.instantaneous(grid)
    assert math.isclose(finite.sum(), -math.expm1(-LAST), rel_tol=1e-12)
    assert math.isclose(inst.sum(), 0.99252, abs_tol=5e-6)
    ratio = inst[1:] / finite[1:]
    assert ratio.min() > 0.98506 - 1e-5 and ratio.max() <= 1.0
    assert int(finite.argmax()) == 501 and math.isclose(finite.max(), 0.0075, abs_tol=5e-5)
    assert finite[[1, 2, 1000]].tolist() == pytest.approx([3.1e-7, 9.3e-9, 9.3e-9], rel=2e-2)
    short = FisherTimes(1000, 10.0)
    assert math.isclose(losses.finite_time(short).sum(), 0.9999546, abs_tol=5e-8)


SAMPLERS = [
    # sampler, total variation at T = 10, 100, 1000 on the nine values, from true means
    ("nearest", [0.299, 0.072, 0.090]),
    ("stochastic", [0.288, 0.0292, 0.0030]),
    ("poisson", [0.184, 0.0352, 0.0038]),
    ("textbook", [0.523, 0.0669, 0.0065]),
]


def sampler(name, maximum, grid, stride=1):
    if name == "textbook":
        return {"steps": poisson_steps(maximum), "factors": textbook(grid, stride)}
    bridge = {"nearest": False, "stochastic": True}
    if name in bridge:
        return {"steps": bridge_steps(maximum, bridge[name])}
    return {"steps": poisson_steps(maximum)}


@pytest.mark.parametrize(("name", "expected"), SAMPLERS, ids=[name for name, _ in SAMPLERS])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_total_variation_of_every_sampler(name, expected, place):
    grid = FisherTimes((10, 100, 1000)[place], LAST)
    law = EIGHT.sampled_law(lost=means(EIGHT, grid), grid=grid, **sampler(name, 8, grid))
    half_a_digit = 5.5e-4 if expected[place] > 0.06 else 6e-5
    assert math.isclose(total_variation(law, EIGHT.law), expected[place], abs_tol=half_a_digit)


@pytest.mark.parametrize("steps", [10, 100])
def test_the_posterior_bridge_is_exact(steps):
    """Up to starting from 0, where X_T > 0 has probability below 8 e^-15."""
    law = EIGHT.exact_law(FisherTimes(steps, LAST))
    assert total_variation(law, EIGHT.law) < 8 * math.exp(-LAST)


@pytest.mark.parametrize("steps", [10, 100, 1000])
def test_nearest_rounding_never_lights_a_rare_pixel(steps):
    binary, grid = EnumeratedCounts([0.7, 0.3]), FisherTimes(steps, LAST)
    y = means(binary, grid)
    errors = {}
    for name in ("nearest", "stochastic", "poisson"):
        law = binary.sampled_law(lost=y, grid=grid, **sampler(name, 1, grid))
        errors[name] = total_variation(law, binary.law)
    assert math.isclose(errors["nearest"], 0.3, abs_tol=1e-12)
    assert errors["stochastic"] < 1e-6
    poisson = {10: 0.0214, 100: 0.0022, 1000: 0.0002}[steps]
    assert math.isclose(errors["poisson"], poisson, abs_tol=5.5e-5)


@pytest.mark.parametrize(("steps", "expected"), [(100, 0.388), (1000, 0.337)])
def test_nearest_rounding_of_a_frequent_pixel(steps, expected):
    binary, grid = EnumeratedCounts([0.4, 0.6]), FisherTimes(steps, LAST)
    law = binary.sampled_law(bridge_steps(1, False), grid)
    assert math.isclose(law[1], expected, abs_tol=5.5e-4)


def test_two_sites_that_are_stepped_independently():
    """The error of factorised steps falls like 1/T; nearest rounding keeps its own."""
    weights = torch.tensor([[4.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 5.0]], dtype=torch.float64)
    pair = EnumeratedCounts(weights / weights.sum())
    found = {}
    for steps in (100, 1000):
        grid = FisherTimes(steps, LAST)
        y = means(pair, grid)
        for name in ("nearest", "stochastic", "poisson"):
            law = pair.sampled_law(lost=y, grid=grid, **sampler(name, 2, grid))
            found[name, steps] = total_variation(law, pair.law)
    for name in ("stochastic", "poisson"):
        assert 8 < found[name, 100] / found[name, 1000] < 12
        assert found[name, 1000] < 0.004
    assert found["nearest", 1000] > 0.05


@pytest.mark.parametrize(
    ("name", "stride", "variation", "transport"),
    [
        ("nearest", 50, 0.183, 10.0), ("stochastic", 50, 0.176, 10.0),
        ("poisson", 50, 0.154, 9.41), ("textbook", 50, 0.794, 88.3),
        ("nearest", 10, 0.0438, 2.19), ("stochastic", 10, 0.0360, 2.31),
        ("poisson", 10, 0.0288, 2.02), ("textbook", 10, 0.254, 34.3),
    ],
)  # fmt: skip
def test_grey_levels_on_coarse_grids(name, stride, variation, transport):
    counts, grid = grey_levels(), FisherTimes(1000, LAST)
    law = counts.sampled_law(grid=grid, stride=stride, **sampler(name, 255, grid, stride))
    assert math.isclose(total_variation(law, counts.law), variation, rel_tol=0.02)
    assert math.isclose(transport_distance(law, counts.law), transport, rel_tol=0.02)


def grey_levels():
    """0.6 N(70, 25^2) + 0.4 N(190, 20^2) on 0..255."""
    value = torch.arange(256, dtype=torch.float64)
    law = sum(
        share / width * torch.exp(-0.5 * ((value - mean) / width) ** 2)
        for share, mean, width in ((0.6, 70, 25), (0.4, 190, 20))
    )
    return EnumeratedCounts(law / law.sum())


def test_the_smooth_levels_of_the_exact_table_are_these():
    assert torch.allclose(smooth_levels(), grey_levels().law, rtol=1e-12, atol=0)


@pytest.mark.long
def test_grey_levels_on_the_whole_grid():
    counts, grid = grey_levels(), FisherTimes(1000, LAST)
    y = means(counts, grid)
    for name, variation, transport in (
        ("nearest", 0.0083, 0.23), ("stochastic", 0.0036, 0.25), ("poisson", 0.0028, 0.21),
        ("textbook", 0.0291, 3.86),
    ):  # fmt: skip
        law = counts.sampled_law(lost=y, grid=grid, **sampler(name, 255, grid))
        assert math.isclose(total_variation(law, counts.law), variation, rel_tol=0.02)
        assert math.isclose(transport_distance(law, counts.law), transport, rel_tol=0.03)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("poisson", {0.25: 0.0260, 0.5: 0.0324, 1.0: 0.0580}),
        ("stochastic", {0.25: 0.0269, 0.5: 0.0361, 1.0: 0.0611}),
        ("nearest", {0.25: 0.0540, 0.5: 0.0335, 1.0: 0.0456}),
    ],
)
def test_two_corrector_steps(name, expected):
    grid = FisherTimes(100, LAST)
    y = means(EIGHT, grid)
    for size, value in expected.items():
        law = EIGHT.sampled_law(
            lost=y, grid=grid, corrector=corrector_steps(8, grid, size), **sampler(name, 8, grid)
        )
        assert math.isclose(total_variation(law, EIGHT.law), value, abs_tol=1.5e-4), size


def test_limits_of_the_conditional_mean():
    grid = FisherTimes(1000, LAST)
    mean = float(EIGHT.law @ EIGHT.states[:, 0].double())
    assert math.isclose(EIGHT.lost(grid, 1000)[0], mean, abs_tol=1e-5)
    assert float(EIGHT.law @ EIGHT.lost(grid, 1)[:, 0]) < 1e-5


def test_one_possible_image_is_reproduced():
    law = torch.zeros(9)
    law[5] = 1
    counts, grid = EnumeratedCounts(law), FisherTimes(100, LAST)
    assert counts.entropy() == 0.0
    for stochastic in (False, True):
        reached = counts.sampled_law(bridge_steps(8, stochastic), grid)
        assert total_variation(reached, counts.law) < 1e-12
    y = counts.lost(grid, 50)
    assert torch.allclose(y[:6, 0], 5.0 - torch.arange(6, dtype=torch.float64))


@pytest.mark.parametrize(
    ("law", "words"),
    [([0.5, 0.6], "sum to 1"), ([-0.5, 1.5], "entries >= 0"), (torch.ones(2, 3) / 6, "equal axes")],
)
def test_bad_laws_are_refused(law, words):
    with pytest.raises(UserError, match=words):
        EnumeratedCounts(law)
