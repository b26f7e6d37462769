import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpbench.processes.schedules import Constant, Geometric, LogLinear, ModifiedLogLinear

SCHEDULES = [
    Constant(0.7),
    Geometric(1e-4, 20.0),
    LogLinear(1e-3),
    ModifiedLogLinear(1.0, 0.5),
    ModifiedLogLinear(0.25, 1.0),
]
unit = st.floats(0.0, 1.0)


@pytest.mark.parametrize("schedule", SCHEDULES)
@settings(max_examples=25, deadline=None)
@given(s=unit, t=unit)
def test_integral_inverse_and_decay_agree_with_total(schedule, s, t):
    s, t = sorted((s, t))
    integral = schedule.integral(s, t)
    torch.testing.assert_close(
        integral, schedule.total(t) - schedule.total(s), rtol=1e-9, atol=1e-12
    )
    torch.testing.assert_close(schedule.decay(s, t), torch.exp(-integral), rtol=1e-9, atol=1e-12)
    assert float(schedule.inverse(schedule.total(t))) == pytest.approx(t, abs=1e-9)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rate_is_the_derivative_of_total(schedule):
    t = torch.linspace(0.05, 0.95, 7, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(schedule.total(t).sum(), t)
    torch.testing.assert_close(schedule.rate(t), slope, rtol=1e-12, atol=0)


def test_published_values():
    geometric = Geometric(1e-4, 20.0)
    assert float(geometric.total(0.0)) == pytest.approx(1e-4, rel=1e-12)
    assert float(geometric.total(1.0)) == pytest.approx(20.0, rel=1e-12)
    assert float(geometric.rate(1.0)) == pytest.approx(20 * math.log(2e5), rel=1e-12)
    assert float(LogLinear(1e-3).decay(0.0, 1.0)) == pytest.approx(1e-3, rel=1e-9)
    assert float(ModifiedLogLinear(1.0, 0.5).integral(0.0, 1.0)) == pytest.approx(math.log(3))


def test_memoryless_limit_is_zero_not_nan():
    schedule = ModifiedLogLinear(gamma=0.5, alpha=0.0)
    t = torch.tensor([0.0, 0.25, 1.0])
    assert schedule.decay(0.0, t).tolist() == [1.0, 0.0, 0.0]
    assert schedule.integral(0.0, t).tolist() == [0.0, math.inf, math.inf]
    torch.testing.assert_close(schedule.decay(t[1], t[2]), torch.tensor(0.5))
    with pytest.raises(ValueError, match="alpha = 0"):
        schedule.inverse(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(0.0),
        lambda: Geometric(1.0, 0.5),
        lambda: LogLinear(0.0),
        lambda: ModifiedLogLinear(1.0, -0.1),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(ValueError, match="need"):
        make()


def test_numbers_do_not_promote_float32():
    assert (torch.ones(3) * Geometric().total(0.5)).dtype == torch.float32
