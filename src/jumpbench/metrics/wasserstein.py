"""Wasserstein distance between two empirical laws on the line."""

import torch
from torch import Tensor

from jumpbench.errors import UserError


def wasserstein2(a: Tensor, b: Tensor) -> Tensor:
    """sqrt of the integral over u in (0, 1) of (F_a^-1(u) - F_b^-1(u))^2, exact; float64 scalar.

    ``a`` (m,) and ``b`` (n,) are samples in any order. For m = n this is the root mean square
    difference of the sorted values. Two independent sets of 4096 Gaussian values of standard
    deviation s are about 0.038 s apart, and of energies, which lie on levels, more: use equal
    counts, and quote what halves of one set show beside a distance.

    Raises:
        UserError: an empty set.
    """
    if not len(a) or not len(b):
        raise UserError("the Wasserstein distance needs at least one value on each side")
    a, b = a.double().sort().values, b.double().sort().values
    if len(a) == len(b):
        return (a - b).square().mean().sqrt()
    # Both quantile functions are constant between consecutive multiples of 1/m and of 1/n;
    # in units of 1/(m n) these are whole numbers.
    m, n = len(a), len(b)
    ends = torch.cat(
        (torch.arange(1, m + 1, device=a.device) * n, torch.arange(1, n + 1, device=a.device) * m)
    ).unique()
    widths = torch.diff(ends, prepend=ends.new_zeros(1))
    last = ends - 1
    squared = (a[last // n] - b[last // m]).square()
    return ((widths * squared).sum() / (m * n)).sqrt()
