"""Drawing from batches of categorical distributions."""

import torch
from torch import Tensor

from jumpbench.ops.checks import require
from jumpbench.ops.precision import at_least_single


def symbols_of(x: Tensor) -> Tensor:
    """Integer states (..., D) themselves; of weights over symbols (..., D, N) the heaviest."""
    return x.argmax(-1) if x.is_floating_point() else x


def sample_categorical(weights: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Indices (...) drawn with probabilities proportional to ``weights`` (..., N) >= 0.

    By inversion, with one uniform number per draw: the first index at which the running sum
    reaches u * total, u in (0, 1]. An entry of weight 0 is never drawn, even in float32, where
    u itself could reach either end. Rows that sum to 0 give index 0. Half types are taken to
    float32.

    Raises:
        ValueError: weights are NaN (see :func:`~jumpbench.ops.checks.require`).
    """
    weights = at_least_single(weights)
    running = weights.cumsum(-1)
    u = 1 - torch.rand(
        weights.shape[:-1], generator=generator, dtype=weights.dtype, device=weights.device
    )
    require(
        running[..., -1:].isnan().logical_not_(),
        "the weights of a categorical draw are NaN: so was what the network or law returned",
    )
    threshold = u[..., None] * running[..., -1:]
    return (running < threshold).sum(-1)
