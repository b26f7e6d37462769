"""Binomial draws of integer counts, on whatever device the counts are."""

import torch
from torch import Tensor


def binomial(
    count: Tensor, probability: Tensor | float, generator: torch.Generator | None = None
) -> Tensor:
    """Draws from Binomial(count, probability), elementwise, in the integer type of ``count``.

    Args:
        count: integers (...) >= 0, below 2^24.
        probability: a number, or a tensor broadcastable to ``count``, in [0, 1].
    """
    if not isinstance(probability, Tensor):
        if probability >= 1:
            return count.clone()
        probability = torch.tensor(probability, device=count.device)
    probability = probability.to(torch.float32).expand_as(count)
    return torch.binomial(count.float(), probability, generator=generator).to(count.dtype)


def thinned(
    bits: Tensor, probability: Tensor | float, generator: torch.Generator | None = None
) -> Tensor:
    """Binomial draws of counts that are 0 or 1: each one stays with the given probability."""
    uniform = torch.rand(bits.shape, generator=generator, device=bits.device)
    return bits * (uniform < probability)
