"""Classes of energies in which laws of the energy are compared."""

import math

import torch
from torch import Tensor

from jumpbench.metrics.states import energy_levels

MOST_LEVELS = 128
BINS = 64
"""Bins of about equal mass where there are more than 128 energies."""


class EnergyClasses:
    """The levels of a law of the energy, or bins of about equal mass.

    Args:
        energy: (S,) of the states.
        probs: (S,) their weights.

    Attributes:
        edges: (K - 1,) between the K classes.
        law: (K,) their mass.
    """

    def __init__(self, energy: Tensor, probs: Tensor) -> None:
        levels = energy_levels(energy)
        self.edges = (levels[1:] + levels[:-1]) / 2
        if len(levels) > MOST_LEVELS:
            ordered, index = energy.double().sort()
            wanted = torch.arange(1, BINS, dtype=torch.float64) / BINS
            place = torch.searchsorted(probs[index].cumsum(0), wanted)
            # Between energies, which rounding moves.
            last = torch.bucketize(ordered[place.clamp(max=len(ordered) - 1)], self.edges).unique()
            self.edges = self.edges[last[last < len(self.edges)]]
        self.law = self.of(energy, probs)

    def of(self, energy: Tensor, weight: Tensor) -> Tensor:
        """Mass (K,) of the classes, of energies (B,) with weights (B,)."""
        index = torch.bucketize(energy.double().contiguous(), self.edges)
        law = torch.zeros(len(self.edges) + 1, dtype=torch.float64)
        return law.index_add_(0, index, weight.double())


def floor(law: Tensor, n: float) -> float:
    """Mean total variation of n exact draws' histogram: E|X / n - p| over cells, X binomial, by
    its normal approximation and never above the 2 p of a cell that is mostly empty."""
    spread = (2 / math.pi * law * (1 - law) / n).clamp(min=0).sqrt()
    return 0.5 * float(torch.minimum(spread, 2 * law).sum())


def floor_spread(law: Tensor) -> float:
    """Standard deviation of the total variation of exact draws' histogram over its mean.

    The counts are normal, with the covariance of a multinomial, and E|X||Y| of two normals of
    correlation r and variance one is 2 / pi (r arcsin r + sqrt(1 - r^2)). sqrt(pi / 2 - 1) = 0.756
    for two classes, whatever their weights.
    """
    p = law[(law > 0) & (law < 1)].double()
    deviation = (p * (1 - p)).sqrt()
    correlation = -torch.outer(p, p) / torch.outer(deviation, deviation)
    correlation = correlation.clamp(-1, 1).fill_diagonal_(1)
    product = correlation * correlation.asin() + (1 - correlation**2).sqrt()
    covariance = 2 / math.pi * (product - 1) * torch.outer(deviation, deviation)
    mean = math.sqrt(2 / math.pi) * float(deviation.sum())
    return math.sqrt(max(float(covariance.sum()), 0.0)) / mean
