"""Summaries of simulated paths: how even their weights are and how much they move."""

import torch
from torch import Tensor


def effective_sample_size(log_weights: Tensor) -> Tensor:
    """(mean w)^2 / mean w^2 over the last axis, ``(..., B) -> (...)`` float64, from 1/B to 1.

    Weights need not be normalised. For path weights of a non-memoryless bridge the number says
    nothing about the sampler: its weights are 1 up to time discretisation whatever it does.
    """
    log_weights = log_weights.double()
    count = log_weights.shape[-1]
    first, second = log_weights.logsumexp(-1), (2 * log_weights).logsumexp(-1)
    return torch.exp(2 * first - second) / count


def jumps_per_site(path: Tensor) -> Tensor:
    """Mean number of changes of a site along a path, ``(M + 1, B, D) -> ()`` float64."""
    return (path[1:] != path[:-1]).sum(0).double().mean()
