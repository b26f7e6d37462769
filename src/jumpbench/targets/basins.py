"""Modes of a small law: the basins of steepest ascent of its probability."""

import torch
from torch import Tensor

from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import EnumeratedLaw

_TIE = 1e-5
"""log-probabilities that differ by less are equal: a flat way is no way up."""


def basins(target: DiscreteTarget, law: EnumeratedLaw) -> tuple[Tensor, Tensor]:
    """The mode (S,) long that each state climbs to, and the modes' weights (M,), heaviest first.

    A step goes to the most probable one-site neighbour (the first site, then the next symbol, of
    several) while it is more probable than the state; local maxima are modes.
    """
    log_p, n = law.probs.log(), target.n_states
    index = torch.arange(len(log_p))
    best, parent = log_p + _TIE, index.clone()
    for site in range(target.length):
        step = n ** (target.length - 1 - site)
        symbol = index // step % n
        for shift in range(1, n):
            other = index + ((symbol + shift) % n - symbol) * step
            higher = log_p[other] > best
            best = torch.where(higher, log_p[other], best)
            parent = torch.where(higher, other, parent)
    while not torch.equal(further := parent[parent], parent):
        parent = further
    tops, mode = parent.unique(return_inverse=True)
    weights = torch.zeros(len(tops), dtype=torch.float64).index_add_(0, mode, law.probs)
    order = weights.argsort(descending=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order))
    return rank[mode], weights[order]
