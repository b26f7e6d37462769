"""A perceptron for few counts: vectors, histograms, single sites."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from jumpbench.networks.embeddings import sinusoidal_features


class CountPerceptron(nn.Module):
    """Raw outputs (B, *shape) for inputs (B, *shape) at observation indices (B,), 0-based.

    Args:
        shape: of one example, such as (30,) for a histogram of 30 bins.
        hidden: size of the hidden layers.
        layers: their number.
        time: number of sine-cosine features of the index.
    """

    def __init__(
        self, shape: Sequence[int], hidden: int = 128, layers: int = 2, time: int = 32
    ) -> None:
        super().__init__()
        sites = math.prod(shape)
        self.time = time
        sizes = [sites + time, *[hidden] * layers]
        parts: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            parts += [nn.Linear(inputs, outputs), nn.SiLU()]
        self.body = nn.Sequential(*parts, nn.Linear(hidden, sites))

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        features = torch.cat([x.flatten(1), sinusoidal_features(index, self.time)], dim=1)
        return self.body(features).view(x.shape)
