"""Maximum mean discrepancy of bit strings."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

_ROWS = 1000


def hamming_mmd(x: Tensor, y: Tensor, bandwidth: float = 0.1) -> float:
    """Unbiased squared MMD with kernel exp(-bandwidth * Hamming distance); x, y bits (B, D).

    U-statistic: diagonals are left out, so the value can be negative. Distances come from inner
    products of spins. Source: Gretton et al. (2012), lemma 6.
    """
    a, b = (2 * part.float() - 1 for part in (x, y))
    m, n = len(a), len(b)
    within = (_total(a, a, bandwidth) - m) / (m * (m - 1))
    within += (_total(b, b, bandwidth) - n) / (n * (n - 1))
    return within - 2 * _total(a, b, bandwidth) / (m * n)


def mmd_noise(y: Tensor, size: int, bandwidth: float = 0.1) -> float:
    """Standard deviation of :func:`hamming_mmd` between two independent sets of one law.

    sqrt(c E[h(Y, Y')^2]), c = 4 / (size (size - 1)) + 4 / size^2, where h is the kernel centred in
    both arguments: between equal laws the U-statistic is degenerate, so that its terms are
    uncorrelated. The mean is taken over the pairs of ``y``.

    Args:
        y: draws of the law, bits (B, D).
        size: draws in each of the two sets.
    """
    spins = 2 * y.float() - 1
    n = len(spins)
    means = torch.cat([kernel.mean(1) for kernel in _kernels(spins, spins, bandwidth)])
    square = torch.zeros((), dtype=torch.float64, device=y.device)
    for kernel, rows in zip(_kernels(spins, spins, bandwidth), means.split(_ROWS), strict=True):
        square += (kernel - rows[:, None] - means + means.mean()).square().sum()
    square -= (1 - 2 * means + means.mean()).square().sum()  # of a draw with itself
    variance = float(square) / (n * (n - 1)) * (4 / (size * (size - 1)) + 4 / size**2)
    return math.sqrt(variance)


def _total(a: Tensor, b: Tensor, bandwidth: float) -> float:
    total = torch.zeros((), dtype=torch.float64, device=a.device)
    for kernel in _kernels(a, b, bandwidth):
        total += kernel.sum()
    return float(total)


def _kernels(a: Tensor, b: Tensor, bandwidth: float) -> Iterator[Tensor]:
    """The kernel between the rows of ``a`` and of ``b``, a block of rows after the other."""
    for rows in a.split(_ROWS):
        distance = (a.shape[-1] - rows @ b.T) / 2
        yield torch.exp(-bandwidth * distance).double()
