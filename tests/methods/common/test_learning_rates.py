"""Every schedule against its sentence: the rate of step s = 1, 2, ..."""

import math
from functools import partial

import pytest
import torch

from jumpbench.methods.common.learning_rates import Cosine, InverseSquareRoot, Noam


def rates(make, steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=123.0)
    schedule = make(optimizer)
    used = []
    for _ in range(steps):
        used.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return used


def test_noam_starts_at_step_one_and_peaks_after_the_warm_up():
    used = rates(partial(Noam, dim=128, warmup=40), 100)
    assert used[0] == pytest.approx(128**-0.5 * 40**-1.5)  # not 0
    assert max(used) == used[39] == pytest.approx((128 * 40) ** -0.5)
    assert used[99] == pytest.approx((128 * 100) ** -0.5)


def test_inverse_square_root_has_the_peak_that_is_asked_for():
    used = rates(partial(InverseSquareRoot, peak=0.3, warmup=10), 40)
    assert used[0] == pytest.approx(0.03)
    assert max(used) == used[9] == pytest.approx(0.3) and used[39] == pytest.approx(0.15)


@pytest.mark.parametrize("warmup", [0, 20])
def test_the_cosine_runs_over_the_steps_after_the_warm_up(warmup):
    """Peak at its start, half way down in the middle of what remains, the floor at the end."""
    used = rates(partial(Cosine, peak=1.0, steps=100, floor=0.2, warmup=warmup), 120)
    for step in range(1, warmup + 1):
        assert used[step - 1] == pytest.approx(step / warmup)
    middle = (warmup + 100) // 2
    assert used[middle - 1] == pytest.approx(0.6)
    quarter = warmup + (100 - warmup) // 4
    assert used[quarter - 1] == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2)
    assert used[99] == used[119] == pytest.approx(0.2)
    assert rates(partial(Cosine, peak=1.0, steps=100), 100)[99] == 0
