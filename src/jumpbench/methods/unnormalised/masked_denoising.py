"""The loss of MDNS, for the network that drives :func:`jumpbench.samplers.unmasking.unmask`.

States of the chain are integers ``0..N``, ``N`` being the mask. A network maps them, (B, D), to
logits (B, D, N) of every masked site's conditional law given the visible sites; there is no
time. Source: Zhu et al. 2025 (MDNS), as described in the appendix of DASBS.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

Logits = Callable[[Tensor], Tensor]

SMALLEST_MASK_RATE = 1e-3
"""The loss divides by the mask rate; below this its variance explodes."""


def denoising_loss(
    logits: Logits,
    x: Tensor,
    weights: Tensor,
    replicates: int,
    n_states: int,
    generator: torch.Generator,
) -> Tensor:
    """Weighted denoising cross-entropy, a scalar, in nats per site.

        mean over states x and replicates of
            w(x) / (lambda D) sum_{masked d} -log q(x^d | visible part of x)

    with ``lambda ~ U(1e-3, 1)`` and every site masked with probability ``lambda``. Its minimiser
    over ``q`` is the family of conditional laws of the weighted states.

    Args:
        logits: the network.
        x: (B, D) complete states.
        weights: (B,) with mean one.
        replicates: masked copies per state, each with its own mask rate.
        n_states: ``N``, also the mask symbol.
        generator: draws rates and masks.
    """
    x = x.long().repeat_interleave(replicates, 0)
    weights = weights.repeat_interleave(replicates, 0)
    uniform = torch.rand(len(x), 1, generator=generator, device=x.device)
    rate = SMALLEST_MASK_RATE + (1 - SMALLEST_MASK_RATE) * uniform
    masked = torch.rand(x.shape, generator=generator, device=x.device) < rate
    scores = logits(torch.where(masked, n_states, x)).float()
    surprise = cross_entropy(scores.transpose(1, 2), x, reduction="none")
    per_state = (surprise * masked / rate).mean(-1)
    return (weights * per_state).mean()
