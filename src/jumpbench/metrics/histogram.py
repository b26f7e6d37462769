"""Distances between laws on finite spaces, such as the histogram of site pairs and the truth."""

from collections.abc import Callable

import torch
from torch import Tensor


def hellinger(p: Tensor, q: Tensor) -> Tensor:
    """sqrt(1 - sum sqrt(p q)) over the last two dimensions; in [0, 1]."""
    return (1 - (p * q).sqrt().sum((-2, -1))).clamp(min=0).sqrt()


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Half the l1 distance of two laws of one shape; in [0, 1]."""
    return (p - q).abs().sum() / 2


def pair_counts(x: Tensor, n_states: int, sites: tuple[int, int] = (0, 1)) -> Tensor:
    """How often each pair of symbols stands at two sites of states (..., D): (N, N) long."""
    first, second = (x[..., site].reshape(-1).long() for site in sites)
    return torch.bincount(first * n_states + second, minlength=n_states**2).view(n_states, -1)


def sampling_floor(
    distance: Callable[[Tensor, Tensor], Tensor],
    truth: Tensor,
    n_samples: int,
    n_replicates: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """What a perfect sampler scores at this sample count: mean and standard deviation.

    ``n_replicates`` histograms of ``n_samples`` exact draws from ``truth`` (N, N), float64.
    """
    law = truth.double().cpu()
    law = law / law.sum()
    running = law.reshape(-1).cumsum(0)
    values = []
    for _ in range(n_replicates):
        u = torch.rand(n_samples, dtype=torch.float64, generator=generator)
        cell = torch.searchsorted(running, u * running[-1], right=True).clamp(max=law.numel() - 1)
        counts = torch.bincount(cell, minlength=law.numel()).view_as(law)
        values.append(distance(counts / n_samples, law))
    distances = torch.stack(values)
    return distances.mean(), distances.std()
