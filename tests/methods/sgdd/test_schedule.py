"""Annealing times and the two potentials, against their formulas."""

import math

import pytest

from jumpbench.methods.sgdd import schedule
from jumpbench.methods.sgdd.schedule import (
    consistent_penalty,
    endpoint_times,
    paper_times,
    printed_penalty,
)
from jumpbench.processes.schedules import Geometric

SCHEDULE = Geometric(1e-4, 20.0)


def test_paper_schedule_is_geometric_in_noise_and_never_ends():
    noise = [float(SCHEDULE.total(t)) for t in paper_times(10)]
    expected = [20 * (5e-6) ** (k / 10) for k in range(10)]
    assert noise == pytest.approx(expected)
    assert noise[-1] == pytest.approx(3.4e-4, rel=0.01)


def test_endpoint_schedule_reaches_the_end():
    times = endpoint_times(10)
    assert times[0] == 1 and times[-1] == pytest.approx(2e-5, rel=1e-3)
    assert endpoint_times(1) == [1.0]


@pytest.mark.parametrize("n_states", [2, 4, 50, 129])
@pytest.mark.parametrize("eta", [1e-4, 0.01, 1.0, 20.0])
def test_penalties(eta, n_states):
    beta = (n_states - 1) / n_states * -math.expm1(-eta)
    assert printed_penalty(eta, n_states) == pytest.approx(math.log((1 - beta) / beta), abs=1e-9)
    stay = math.exp(-eta) - math.expm1(-eta) / n_states
    other = -math.expm1(-eta) / n_states
    assert consistent_penalty(eta, n_states) == pytest.approx(math.log(stay / other), abs=1e-9)
    assert consistent_penalty(eta, n_states) > 0


@pytest.mark.parametrize(("n_states", "eta"), [(50, 0.714), (4, 1.10), (129, 0.70)])
def test_printed_penalty_changes_sign(n_states, eta):
    """At eta = ln(2(N-1)/(N-2)), and tends to -ln(N-1)."""
    assert printed_penalty(eta - 0.01, n_states) > 0 > printed_penalty(eta + 0.01, n_states)
    assert printed_penalty(40.0, n_states) == pytest.approx(-math.log(n_states - 1))


def test_the_potentials_agree_for_two_symbols():
    assert printed_penalty(0.3, 2) == consistent_penalty(0.3, 2)


def test_fixed_times_stay_at_their_noise():
    """sigma(t) = eta at every iteration."""
    for eta in (0.001, 0.1, 0.5):
        times = schedule.fixed_times(5, eta)
        assert len(times) == 5 and len(set(times)) == 1
        assert float(Geometric().total(times[0])) == pytest.approx(eta)


def test_a_loosened_penalty_is_that_of_more_noise():
    penalty = schedule.loosened_penalty(0.02, 256, factor=10)
    assert penalty == schedule.printed_penalty(0.2, 256) < schedule.printed_penalty(0.02, 256)
    exact = schedule.loosened_penalty(0.02, 256, 10, schedule.consistent_penalty)
    assert exact == schedule.consistent_penalty(0.2, 256)
