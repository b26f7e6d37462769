"""Laws of energies, and how sets of states are compared."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.metrics.states import energies, energy_law, energy_levels, state_metrics
from jumpbench.targets.base import Target


class Sum(Target):
    def log_prob(self, x):
        return -x.float().sum(-1)


def test_energy_laws_put_every_state_at_its_level():
    energy = torch.tensor([-1.0, 2.0, -1.0000001, 0.5])
    levels = energy_levels(energy)
    assert levels.tolist() == [-1.0, 0.5, 2.0]
    weight = torch.tensor([0.1, 0.2, 0.3, 0.4])
    assert energy_law(energy, weight, levels).tolist() == pytest.approx([0.4, 0.4, 0.2])


def test_errors_by_hand():
    target = Sum(2, 3)
    samples = torch.tensor([[0, 0], [0, 1]])
    truth = torch.tensor([[1, 1], [2, 2], [1, 1], [2, 2]])
    assert energies(target, samples).tolist() == [0, 1]
    found = state_metrics(target, samples, truth)
    assert found["energy_error"] == pytest.approx(2.5)
    # Sorted in quarters: 0, 0, 1, 1 against 2, 2, 4, 4.
    assert found["energy_w2"] == pytest.approx(((4 + 4 + 9 + 9) / 4) ** 0.5)
    # Site 0: all on 0 against halves on 1 and 2; site 1: halves on 0, 1 against halves on 1, 2.
    assert found["marginal_error"] == pytest.approx((1 + 0.5) / 2)
    assert 0 < found["energy_error_floor"] < 1
    with pytest.raises(UserError, match="at least one state"):
        state_metrics(target, samples[:0], truth)
