"""Binomial draws of integer counts, on whatever device the counts are."""

import math

import torch
from torch import Tensor

from jumpbench.ops.uniforms import fill_uniform_

# Large enough that the calls cost less than their work, small enough for a processor's cache.
_CHUNK = 1 << 17
# Above this mean of the largest count torch.binomial's rejection is faster than adding up terms.
_LARGEST_MEAN = 10.0
_TAIL = 2.0**-26


def binomial(
    count: Tensor,
    probability: Tensor | float,
    generator: torch.Generator | None = None,
    largest: int | None = None,
) -> Tensor:
    """Draws from Binomial(count, probability), elementwise, in the integer type of ``count``.

    Args:
        count: integers (...) >= 0, below 2^24.
        probability: a number, or a tensor broadcastable to ``count``, in [0, 1].
        largest: no count is above it. With one small probability for all, draws on the CPU are
            then made by inversion.
    """
    if isinstance(probability, Tensor):
        p = probability.to(torch.float32).expand_as(count)
        return torch.binomial(count.float(), p, generator=generator).to(count.dtype)
    if probability >= 1:
        return count.clone()
    if probability <= 0:
        return torch.zeros_like(count)
    if largest is not None and count.device.type == "cpu" and largest * probability < _LARGEST_MEAN:
        return _by_inversion(count, probability, largest, generator)
    p = torch.full(count.shape, probability, device=count.device)
    return torch.binomial(count.float(), p, generator=generator).to(count.dtype)


def thinned(
    bits: Tensor, probability: Tensor | float, generator: torch.Generator | None = None
) -> Tensor:
    """Binomial draws of counts that are 0 or 1: each one stays with the given probability."""
    uniform = torch.rand(bits.shape, generator=generator, device=bits.device)
    return bits * (uniform < probability)


def _by_inversion(
    count: Tensor, probability: float, largest: int, generator: torch.Generator | None
) -> Tensor:
    """The number of terms of the distribution function that a uniform number exceeds.

    Terms follow from each other, P(m + 1) = P(m) (n - m) / (m + 1) p / (1 - p); chunks stay in the
    processor's cache. Terms beyond a total of 2^-26 are left out: with means below 10 there are
    some thirty, so bytes count them.
    """
    log_stay, odds = math.log1p(-probability), probability / (1 - probability)
    terms = terms_of(largest, probability)
    n = count.reshape(-1)
    drawn = torch.zeros(len(n), dtype=torch.uint8)
    size = min(_CHUNK, len(n))
    buffers, exceeded = torch.empty(4, size), torch.empty(size, dtype=torch.bool)
    for first in range(0, len(n), _CHUNK):
        result = drawn[first : first + _CHUNK]
        left, u, term, total = buffers[:, : len(result)]
        above = exceeded[: len(result)]
        step = above.view(torch.uint8)  # a sum of mixed types is many times slower
        left.copy_(n[first : first + _CHUNK])
        fill_uniform_(u, generator)
        torch.mul(left, log_stay, out=term).exp_()
        total.copy_(term)
        for m in range(terms):
            torch.gt(u, total, out=above)
            if m % 4 == 3 and not above.any():
                break
            result += step
            term.mul_(left).mul_(odds / (m + 1))
            total += term
            left -= 1
        else:
            # Rounded sums may end 1e-6 below 1, and then the next number is the last term's.
            for k in above.nonzero().flatten().tolist():
                result[k] = _quantile(float(u[k]), int(n[first + k]), probability)
    return torch.minimum(drawn.to(n.dtype), n).view(count.shape)


def _quantile(u: float, count: int, probability: float) -> int:
    """Smallest m with P(Binomial(count, probability) <= m) >= u, in double precision."""
    term = math.exp(count * math.log1p(-probability))
    total, m = term, 0
    while u > total and m < count:
        term *= (count - m) / (m + 1) * probability / (1 - probability)
        total += term
        m += 1
    return m


def terms_of(largest: int, probability: float) -> int:
    """Smallest m with P(Binomial(largest, probability) > m) below 2^-26, at most ``largest``."""
    term = math.exp(largest * math.log1p(-probability))
    total, m = term, 0
    while 1 - total > _TAIL and m < largest:
        term *= (largest - m) / (m + 1) * probability / (1 - probability)
        total += term
        m += 1
    return max(m, 1)
