import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.metrics.wasserstein import wasserstein2


def normal(n, seed=0):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_a_shift_is_its_own_distance():
    a = normal(100)
    assert float(wasserstein2(a, a.flip(0) + 3)) == pytest.approx(3, abs=1e-12)
    assert float(wasserstein2(a, a[torch.randperm(100)])) == 0


@pytest.mark.parametrize(("m", "n"), [(3, 5), (4, 6), (1, 7), (12, 4)])
def test_unequal_counts_agree_with_repeated_values(m, n):
    a, b = normal(m), 2 * normal(n, 1) + 1
    repeated = wasserstein2(a.repeat_interleave(n), b.repeat_interleave(m))
    assert float(wasserstein2(a, b)) == pytest.approx(float(repeated), rel=1e-12)
    assert float(wasserstein2(b, a)) == pytest.approx(float(repeated), rel=1e-12)


def test_the_floor_of_two_gaussian_sets_of_4096():
    """Expected 0.038 standard deviations; the mean of 50 scatters by about 3 percent."""
    distances = [wasserstein2(normal(4096, 2 * k), normal(4096, 2 * k + 1)) for k in range(50)]
    assert float(torch.stack(distances).mean()) == pytest.approx(0.038, rel=0.12)


def test_an_empty_set_is_refused():
    with pytest.raises(UserError, match="at least one"):
        wasserstein2(normal(0), normal(3))
