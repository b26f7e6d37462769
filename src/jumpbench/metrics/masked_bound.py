"""The likelihood bound of a masked diffusion model."""

from collections.abc import Callable

import torch
from torch import Tensor


def masked_bound(
    clean: Callable[[Tensor, int], Tensor],
    x0: Tensor,
    masked: Tensor,
    mask: int,
    generator: torch.Generator,
) -> Tensor:
    """One-sample discretised bound on log p(x_0), nats (B,), float64.

    sum_k (m_k - m_(k-1)) / m_k sum over masked sites of log p(x_0 | x_k), where x_k has each site
    of x_0 masked with probability m_k, drawn anew for every k (MDLM, Sahoo et al. 2024, in discrete
    time; the log-likelihood of SGDD's Table 3 with 128 steps). With exact conditionals and many
    steps its mean is log p(x_0) itself: each order of unmasking then has the same weight.

    Args:
        clean: (states (B, D), k) -> law (B, D, N) of the clean symbols.
        x0: clean states (B, D).
        masked: m_0 < m_1 < ... < m_K, (K + 1,).
        mask: the symbol of a masked site.
    """
    total = torch.zeros(len(x0), dtype=torch.float64, device=x0.device)
    steps = masked.double()
    for k in range(1, len(masked)):
        hidden = torch.rand(x0.shape, generator=generator, device=x0.device) < steps[k]
        law = clean(torch.where(hidden, mask, x0), k).double()
        log_law = law.gather(-1, x0[..., None]).squeeze(-1).log()
        share = (steps[k] - steps[k - 1]) / steps[k]
        total += share * torch.where(hidden, log_law, 0.0).sum(-1)
    return total
