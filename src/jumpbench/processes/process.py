"""What every forward or reference process offers, whatever its states are."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Process(ABC):
    """A Markov jump process that forgets where it started, run along accumulated noise.

    States are integer tensors (..., D): symbols, counts, or the entries of a permutation.
    ``noise`` is what has accumulated over an interval, a number or a tensor broadcastable to the
    batch dimensions (...); it may be infinite. Draws are independent over the batch, on the
    states' device, and of their dtype. Nothing here is dense over the values of a site: a process
    on counts up to 255 works with the counts themselves.

    Implementations: :class:`~jumpbench.processes.base.SiteProcess` for symbols, which adds laws
    and scores as probabilities (..., D, N).
    """

    @abstractmethod
    def sample(
        self, x: Tensor, noise: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        """States after ``noise``, starting from x."""

    @abstractmethod
    def sample_bridge(
        self,
        x0: Tensor,
        x1: Tensor,
        noise_before: Tensor | float,
        noise_after: Tensor | float,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """States between x0, ``noise_before`` earlier, and x1, ``noise_after`` later."""

    @abstractmethod
    def sample_limit(
        self,
        *shape: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """States of the given shape from the law of infinite noise."""

    @abstractmethod
    def reverse_rates(self, x: Tensor, score: Tensor, rate: Tensor | float) -> Tensor:
        """Rates of the elementary moves of the reverse process at x.

        ``score`` is what a model says of the moves, ratios p_t(y) / p_t(x) for moves to y, in a
        layout of the process's own, which the result shares: (..., D, N) for symbols, (..., D) for
        counts that rise by one. ``rate`` (...) is the noise rate.
        """
