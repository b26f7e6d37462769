"""Distances between the histogram of sampled site pairs and a known law."""

from collections.abc import Callable

import torch
from torch import Tensor
from torchmetrics import Metric


def hellinger(p: Tensor, q: Tensor) -> Tensor:
    """sqrt(1 - sum sqrt(p q)) over the last two dimensions; in [0, 1]."""
    return (1 - (p * q).sqrt().sum((-2, -1))).clamp(min=0).sqrt()


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Half the l1 distance over the last two dimensions; in [0, 1]."""
    return (p - q).abs().sum((-2, -1)) / 2


class PairHistogramDistance(Metric):
    """Distance of the empirical law of two sites from ``truth`` (N, N), in float64.

    The state is the N x N table of counts, so batches and processes add up exactly. The value is
    biased upwards by finite sampling: compare it with :func:`sampling_floor`.

    Args:
        truth: law of the two sites; normalised here.
        sites: which two sites are looked at.
    """

    full_state_update = False

    def __init__(self, truth: Tensor, sites: tuple[int, int] = (0, 1)) -> None:
        super().__init__()
        if truth.ndim != 2 or truth.shape[0] != truth.shape[1]:
            raise ValueError(f"truth must be (N, N), not {tuple(truth.shape)}")
        self.sites = sites
        self.register_buffer("truth", truth.double() / truth.double().sum(), persistent=False)
        self.add_state("counts", torch.zeros(truth.numel()).long(), dist_reduce_fx="sum")

    def update(self, x: Tensor) -> None:
        """Adds states (..., D)."""
        first, second = (x[..., site].reshape(-1).long() for site in self.sites)
        cell = first * self.truth.shape[0] + second
        self.counts += torch.bincount(cell, minlength=self.truth.numel())

    def frequencies(self) -> Tensor:
        """Empirical law (N, N), float64."""
        return (self.counts.double() / self.counts.sum()).view_as(self.truth)


class HistogramHellinger(PairHistogramDistance):
    """Hellinger distance sqrt(1 - sum sqrt(p q)) of two sites' histogram from the truth."""

    def compute(self) -> Tensor:
        return hellinger(self.frequencies(), self.truth.double())


class HistogramTotalVariation(PairHistogramDistance):
    """Total variation distance of two sites' histogram from the truth."""

    def compute(self) -> Tensor:
        return total_variation(self.frequencies(), self.truth.double())


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
    values = torch.stack(values)
    return values.mean(), values.std()
