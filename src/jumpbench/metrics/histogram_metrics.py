"""Distances of a pair histogram as torchmetrics classes, which add up over batches."""

import torch
from torch import Tensor
from torchmetrics import Metric

from jumpbench.metrics.histogram import hellinger, pair_counts, total_variation


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
        self.counts += pair_counts(x, len(self.truth), self.sites).view(-1)

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
