"""How well lists are ordered: Kendall's tau, accuracy, tours, and what ties allow at best.

g is the true and h the predicted index array of a list: ``input[g]`` is the ordered list.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import product
from math import factorial, prod

import torch
from torch import Tensor
from torchmetrics import Metric

from jumpbench.processes.permutations import check_permutations, inverse

# Pairs compared at once: bounds the memory of the O(n^2) count of inversions.
PAIRS_PER_CHUNK = 2**24


def inversions(permutation: Tensor) -> Tensor:
    """Pairs i < j with ``p[i] > p[j]``, ``(..., n) -> (...)``, by comparing all pairs."""
    n = permutation.shape[-1]
    flat = permutation.reshape(-1, n)
    later = torch.ones(n, n, dtype=torch.bool, device=flat.device).triu_(1)
    counts = [
        ((rows.unsqueeze(-1) > rows.unsqueeze(-2)) & later).sum((-1, -2))
        for rows in flat.split(max(1, PAIRS_PER_CHUNK // n**2))
    ]
    return torch.cat(counts).view(permutation.shape[:-1])


def kendall_tau(first: Tensor, second: Tensor) -> Tensor:
    """tau of the pairs ``(first[i], second[i])`` of two permutations, ``(..., n) -> (...)``.

    ``1 - 4 inversions / (n (n - 1))``, float64. On index arrays (g, h) it is the paper's number,
    which counts labels and falls fast; the tau of ranks is that of their inverses.
    """
    n = first.shape[-1]
    if n < 2:
        raise ValueError("Kendall's tau compares pairs: it needs lists of at least two objects")
    # Sorting the pairs by their first entry leaves the second entries to count inversions in.
    return 1 - 4 * inversions(second.gather(-1, inverse(first))).double() / (n * (n - 1))


def kendall_tau_rank(true: Tensor, predicted: Tensor) -> Tensor:
    """tau of the ranks that two index arrays give to the same objects, ``(..., n) -> (...)``."""
    return kendall_tau(inverse(true), inverse(predicted))


class ListMetric(Metric):
    """Mean over lists of a score of (true, predicted) index arrays ``(..., n)``.

    ``update`` raises ValueError for rows that are not permutations.
    """

    full_state_update = False
    higher_is_better = True

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("lists", torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")

    def update(self, true: Tensor, predicted: Tensor) -> None:
        if true.shape != predicted.shape:
            raise ValueError(f"index arrays differ in shape: {true.shape} and {predicted.shape}")
        check_permutations(true, "true index array")
        check_permutations(predicted, "predicted index array")
        scores = self.score(true, predicted)
        self.total += scores.double().sum()
        self.lists += scores.numel()

    def compute(self) -> Tensor:
        return self.total / self.lists

    @abstractmethod
    def score(self, true: Tensor, predicted: Tensor) -> Tensor:
        """Score of every list, ``(..., n) -> (...)``."""


class KendallTau(ListMetric):
    """Kendall's tau of the index arrays, the paper's convention."""

    def score(self, true: Tensor, predicted: Tensor) -> Tensor:
        return kendall_tau(true, predicted)


class KendallTauRank(ListMetric):
    """Kendall's tau of the ranks."""

    def score(self, true: Tensor, predicted: Tensor) -> Tensor:
        return kendall_tau_rank(true, predicted)


class ListAccuracy(ListMetric):
    """Share of lists ordered without a fault, in [0, 1]."""

    def score(self, true: Tensor, predicted: Tensor) -> Tensor:
        return (true == predicted).all(-1)


class CorrectPositions(ListMetric):
    """Share of positions with the right object, in [0, 1]."""

    def score(self, true: Tensor, predicted: Tensor) -> Tensor:
        return (true == predicted).double().mean(-1)


def closed_tour_length(points: Tensor, tour: Tensor) -> Tensor:
    """Euclidean length of the closed tours ``(..., n)`` through ``points (..., n, 2)``: ``(...)``.

    Leading axes of the points and of the tours broadcast.
    """
    shape = torch.broadcast_shapes(points.shape[:-2], tour.shape[:-1])
    index = tour.expand(*shape, tour.shape[-1]).unsqueeze(-1).expand(*shape, tour.shape[-1], 2)
    ordered = points.expand(*shape, *points.shape[-2:]).gather(-2, index)
    return (ordered - ordered.roll(-1, -2)).norm(dim=-1).sum(-1)


class TourGap(Metric):
    """Mean over instances of ``(length - reference) / reference`` (not the ratio of the means)."""

    full_state_update = False
    higher_is_better = False

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("tours", torch.zeros((), dtype=torch.long), dist_reduce_fx="sum")

    def update(self, length: Tensor, reference: Tensor) -> None:
        """Closed lengths ``(...)`` of the found and of the reference tours."""
        self.total += ((length.double() - reference) / reference).sum()
        self.tours += length.numel()

    def compute(self) -> Tensor:
        return self.total / self.tours


def sorting_ceiling(n: int, digit_law: Sequence[float], digits: int = 4) -> tuple[float, float]:
    """Best expected (accuracy, correct share) when n numbers with ties are to be sorted.

    Numbers have independent digits with law ``digit_law``; equal numbers have an arbitrary order
    which nobody can know. A group of m equal numbers costs a factor 1/m! of the accuracy, and
    keeps one position right in expectation:
    ``accuracy = n! [z^n] prod_v f(p_v z)`` with ``f(x) = sum_m x^m / (m!)^2``, and
    ``correct = sum_v (1 - (1 - p_v)^n) / n``. The product needs only the power sums
    ``sum_v p_v^k = (sum_d p_d^k)^digits``.
    """
    # log f = sum_k c_k x^k, from f' = f (log f)'.
    f = [1 / factorial(m) ** 2 for m in range(n + 1)]
    c = [0.0] * (n + 1)
    for m in range(1, n + 1):
        c[m] = f[m] - sum(k * c[k] * f[m - k] for k in range(1, m)) / m
    # b_m = m! [z^m] exp(sum_k C_k z^k), with C_k = c_k sum_v p_v^k; n^k keeps factorials in range.
    scaled = [
        c[k] * sum((n ** (1 / digits) * p) ** k for p in digit_law) ** digits for k in range(n + 1)
    ]
    b = [1.0] + [0.0] * n
    for m in range(1, n + 1):
        falling, value = 1.0, 0.0
        for k in range(1, m + 1):
            falling *= 1 if k == 1 else (m - k + 1) / n
            value += k * scaled[k] * falling / n * b[m - k]
        b[m] = value
    values = (prod(each) for each in product(digit_law, repeat=digits))
    distinct = sum(1 - (1 - p) ** n for p in values)
    return b[n], distinct / n


def empty_piece_ceiling(empty: int, pieces: int) -> tuple[float, float]:
    """Best expected (accuracy, correct share) of a jigsaw with indistinguishable empty pieces.

    With b of them: ``1 / b!`` and ``(pieces - b + [b > 0]) / pieces``.
    """
    if not 0 <= empty <= pieces:
        raise ValueError(f"{empty} empty pieces of {pieces} make no sense")
    return 1 / factorial(empty), (pieces - empty + (empty > 0)) / pieces
