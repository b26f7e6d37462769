"""The observation grid: constants, symmetry, what a step brings back."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.processes.observation_times import FisherTimes, ObservationTimes, UniformTimes

GRID = FisherTimes(1000, 15.0)


@pytest.mark.parametrize(
    ("last", "first", "spacing"),
    [(15.0, 3.0590236e-7, 0.03003003), (10.0, 4.5400960e-5, 0.02002002)],
)
def test_ends_and_spacing(last, first, spacing):
    grid = FisherTimes(1000, last)
    assert grid.times[0] == 0 and grid.times[1000] == last
    assert math.isclose(grid.times[1], first, rel_tol=1e-7)
    assert math.isclose(grid.times[1], -math.log1p(-math.exp(-last)), rel_tol=1e-9)
    logit = grid.survival[1:].log() - grid.loss[1:].log()
    assert torch.allclose(-logit.diff(), torch.tensor(spacing, dtype=torch.float64), atol=1e-8)


def test_half_of_the_times_lie_below_log_2():
    assert int((GRID.times[1:] < math.log(2)).sum()) == 500
    found = GRID.times[[500, 501, 999]].tolist()
    assert found == pytest.approx([0.68567, 0.70068, 14.96997], abs=5e-6)


def test_symmetry_and_order():
    q = GRID.survival[1:]
    assert (q + q.flip(0) - 1).abs().max() < 1e-15
    assert (GRID.times.diff() > 0).all()
    assert torch.allclose(GRID.survival, torch.exp(-GRID.times), rtol=1e-13, atol=0)
    # t_T itself is exact, the logistic form next to it good to one part in 1e9
    assert torch.allclose(GRID.loss, -torch.expm1(-GRID.times), rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("last", "at", "value"),
    [
        (15.0, 2, 0.0295836), (15.0, 100, 0.0295836), (15.0, 500, 0.0151), (15.0, 900, 1.9e-7),
        (15.0, 1000, 9.3e-9), (10.0, 2, 0.0198200), (10.0, 500, 0.0100592), (10.0, 1000, 9.1806e-7),
    ],
)  # fmt: skip
def test_revival(last, at, value):
    r = FisherTimes(1000, last).revival()
    digits = {0.0151: 5e-3, 1.9e-7: 2e-2, 9.3e-9: 5e-3}.get(value, 5e-6)
    if at == 100:
        digits = 5e-4  # times there are small, not infinitely so
    assert math.isclose(r[at], value, rel_tol=digits)
    assert r[1] == 1.0 and r[0] == 0.0 and (r[2:] < 1).all()


def test_coarser_steps_compose():
    """Staying dead over two steps: (1 - r_k)(1 - r_(k-1)) = 1 - r over stride 2."""
    r, twice = GRID.revival(), GRID.revival(2)
    product = (1 - r[2:]) * (1 - r[1:-1])
    assert torch.allclose(1 - twice[2:], product, rtol=0, atol=1e-9)
    assert twice[1] == twice[2] == 1.0
    assert list(GRID.visits(250)) == [1000, 750, 500, 250]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ObservationTimes([0.5, 0.3]), "increase"),
        (lambda: ObservationTimes([0.0, 0.3]), "above 0"),
        (lambda: ObservationTimes([0.1, float("nan")]), "finite"),
        (lambda: FisherTimes(1), "steps >= 2"),
        (lambda: FisherTimes(10, 0.5), "last > log 2"),
        (lambda: GRID.visits(7), "does not divide"),
    ],
)
def test_bad_grids_are_refused(make, words):
    with pytest.raises(UserError, match=words):
        make()


def test_uniform_times():
    grid = UniformTimes(5, 2.0)
    assert grid.times.tolist() == pytest.approx([0, 0.4, 0.8, 1.2, 1.6, 2.0])
    assert torch.allclose(grid.survival, torch.exp(-grid.times))
    for steps, last in ((0, 1.0), (3, 0.0), (3, -1.0)):
        with pytest.raises(UserError):
            UniformTimes(steps, last)
