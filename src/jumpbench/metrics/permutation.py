"""How well lists are ordered: Kendall's tau, and what objects that look alike allow at best.

g is the true and h the predicted index array of a list: ``input[g]`` is the ordered list.
"""

import torch
from torch import Tensor

from jumpbench.processes.permutations import inverse

# Pairs compared at once: bounds the memory of the O(n^2) count of inversions.
PAIRS_PER_CHUNK = 2**24


def inversions(permutation: Tensor) -> Tensor:
    """Pairs i < j with ``p[i] > p[j]``, (..., n) -> (...), by comparing all pairs."""
    n = permutation.shape[-1]
    flat = permutation.reshape(-1, n)
    later = torch.ones(n, n, dtype=torch.bool, device=flat.device).triu_(1)
    counts = [
        ((rows.unsqueeze(-1) > rows.unsqueeze(-2)) & later).sum((-1, -2))
        for rows in flat.split(max(1, PAIRS_PER_CHUNK // n**2))
    ]
    return torch.cat(counts).view(permutation.shape[:-1])


def kendall_tau(first: Tensor, second: Tensor) -> Tensor:
    """tau of the pairs ``(first[i], second[i])`` of two permutations, (..., n) -> (...).

    ``1 - 4 inversions / (n (n - 1))``, float64. On index arrays (g, h) it is the paper's number,
    which counts labels and falls fast; the tau of ranks is that of their inverses.
    """
    n = first.shape[-1]
    if n < 2:
        raise ValueError("Kendall's tau compares pairs: it needs lists of at least two objects")
    # Sorting the pairs by their first entry leaves the second entries to count inversions in.
    return 1 - 4 * inversions(second.gather(-1, inverse(first))).double() / (n * (n - 1))


def kendall_tau_rank(true: Tensor, predicted: Tensor) -> Tensor:
    """tau of the ranks that two index arrays give to the same objects, (..., n) -> (...)."""
    return kendall_tau(inverse(true), inverse(predicted))


def look_alike_ceilings(groups: Tensor) -> tuple[Tensor, Tensor]:
    """Best expected accuracy and share of right places (B,) when objects of a group look alike.

    With groups of m_g objects in ``groups`` (B, n): prod_g 1 / m_g!, and (number of groups) / n,
    since one place of each group is right in expectation.
    """
    same = groups.unsqueeze(-1) == groups.unsqueeze(-2)
    # The earlier members of its own group: 0, 1, .., m - 1 in each, so that factors multiply to m!
    before = same.tril(-1).sum(-1).double()
    return (1 / (before + 1)).prod(-1), (before == 0).double().mean(-1)
