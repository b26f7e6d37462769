"""Errors in print, SGDD: the printed form fails where the right one holds."""

import math

import pytest
import torch


def test_the_bound_of_lemma_3():
    """The supremum over z of -u z - e^-z is u (log u - 1), not (u - 1) log u, and that is not below
    |u - 1| for small and large u."""
    z = torch.linspace(-20, 20, 400_001, dtype=torch.float64)
    for u in (0.1, 0.5, 2.0, 4.0):
        largest = float((-u * z - torch.exp(-z)).max())
        assert largest == pytest.approx(u * (math.log(u) - 1), abs=1e-8)
        assert abs((u - 1) * math.log(u) - largest) > 0.3
    assert all((u - 1) * math.log(u) > abs(u - 1) for u in (0.1, 4.0))
