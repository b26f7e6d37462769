"""Sinkhorn normalisation: from any square matrix of scores to a doubly stochastic one."""

import torch
from torch import Tensor


def log_sinkhorn(log_alpha: Tensor, rounds: int = 20) -> Tensor:
    """Logarithm of the doubly stochastic matrix reached from exp(``log_alpha``) (..., n, n).

    Each round divides rows, then columns, by their sums (Sinkhorn 1964; Mena et al. 2018, eq. 3),
    in log space. After the last round columns sum to one exactly, rows in the limit.
    """
    for _ in range(rounds):
        log_alpha = log_alpha - log_alpha.logsumexp(-1, keepdim=True)
        log_alpha = log_alpha - log_alpha.logsumexp(-2, keepdim=True)
    return log_alpha


def gumbel_sinkhorn(
    log_alpha: Tensor,
    temperature: float,
    n_samples: int,
    generator: torch.Generator,
    rounds: int = 20,
) -> Tensor:
    """Soft permutation matrices (n_samples, ..., n, n): Sinkhorn of perturbed scores.

    exp(log_sinkhorn((log_alpha + Gumbel noise) / temperature)), differentiable in ``log_alpha``;
    as the temperature falls they become samples of a distribution over permutation matrices
    (Mena et al. 2018, section 4).
    """
    shape = (n_samples, *log_alpha.shape)
    noise = torch.empty(shape, device=log_alpha.device, dtype=log_alpha.dtype)
    noise = -noise.exponential_(generator=generator).log()
    return log_sinkhorn((log_alpha + noise) / temperature, rounds).exp()
