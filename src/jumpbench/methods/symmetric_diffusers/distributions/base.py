"""The interface of the reverse distributions, and helpers they share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from jumpbench.ops.checks import require

# exp(80) and exp(-80) are normal floats, and so are sums of some thousand of the former.
LARGEST_EXPONENT = 80.0


class Hypotheses(NamedTuple):
    """Distinct permutations with their log-probabilities, the most probable first."""

    permutations: Tensor  # (..., W, n)
    log_probs: Tensor  # (..., W)


class PermutationDistribution(ABC):
    """A law of the reverse permutation sigma' of n objects, one per list of a batch.

    Scores are cast to float32 unless they are float64, so a network may run in lower precision.
    """

    score_axes: ClassVar[int] = 1
    """Axes of the scores that belong to objects, the last ones; those before are the batch's."""

    def __init__(self, scores: Tensor) -> None:
        self.scores = as_scores(scores, self.score_axes)
        self.n = scores.shape[-1]
        self.batch_shape = scores.shape[: -self.score_axes]

    @abstractmethod
    def log_prob(self, sigma: Tensor) -> Tensor:
        """log p(sigma), ``(*sample, *batch, n) -> (*sample, *batch)``; -inf where impossible."""

    @abstractmethod
    def sample(self, generator: torch.Generator, sample_shape: Sequence[int] = ()) -> Tensor:
        """Independent draws, ``(*sample_shape, *batch, n)``, without gradient."""

    @abstractmethod
    def greedy(self) -> Tensor:
        """One cheap, probable permutation per list, ``(*batch, n)``; see the class for how."""

    @abstractmethod
    def beam(self, width: int, keep: int | None = None) -> Hypotheses:
        """The ``keep`` best of a search of this ``width``; fewer where fewer permutations exist.

        Where the support is smaller than the width, the rest has log-probability -inf and repeats
        the best permutation.
        """


def as_scores(scores: Tensor, n_axes: int) -> Tensor:
    """float32 or float64 scores with ``n_axes`` object axes of equal length >= 1.

    Scores that no gradient is asked of are to be drawn from, and every comparison with NaN has an
    answer: they must not be NaN. In training a loss that is NaN says so by itself.
    """
    if scores.ndim < n_axes or 0 in scores.shape[-n_axes:]:
        raise ValueError(f"scores need {n_axes} object axes of length >= 1, got {scores.shape}")
    if n_axes == 2 and scores.shape[-1] != scores.shape[-2]:
        raise ValueError(f"a score matrix must be square, got {tuple(scores.shape[-2:])}")
    if not (scores.requires_grad and torch.is_grad_enabled()):
        require(scores.isnan().any().logical_not_(), "scores of permutations are NaN")
    return scores if scores.dtype == torch.float64 else scores.float()


def exponentials_are_plain(scores: Tensor) -> bool:
    """Whether ``exp(scores)`` can be summed as it is, on a device where asking costs nothing."""
    if scores.device.type != "cpu" or torch.compiler.is_compiling() or not scores.numel():
        return False
    smallest, largest = scores.detach().aminmax()
    return max(-float(smallest), float(largest)) <= LARGEST_EXPONENT


def check_width(width: int, keep: int | None) -> int:
    """``keep`` with its default, after checking ``1 <= keep <= width``."""
    keep = width if keep is None else keep
    if not 1 <= keep <= width:
        raise ValueError(f"a beam needs 1 <= keep <= width, got width {width} and keep {keep}")
    return keep
