"""What every forward or reference process offers, whatever its states are."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Process(ABC):
    """A Markov jump process that forgets where it started.

    States are integer tensors (..., D): symbols or counts. ``noise`` is how far the process has
    run, as accumulated noise or as its own time; it may be infinite. Draws are independent over the
    batch, on the states' device, and of their dtype or a wider one. Nothing here is dense over the
    values of a site: a process on counts up to 255 works with the counts themselves.

    Kinds of states add what they need in a layout of their own: a bridge (``sample_bridge``), and
    reverse rates (``reverse_rates``) of their elementary moves, (..., D, N) for symbols
    (:class:`~jumpbench.processes.base.SiteProcess`), (..., D) for counts that rise or fall by one
    (:class:`~jumpbench.processes.counts.CountProcess`).
    """

    @abstractmethod
    def sample(
        self, x: Tensor, noise: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        """States after ``noise``, starting from x."""

    @abstractmethod
    def sample_limit(
        self,
        *shape: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """States of the given shape from the law of infinite noise."""
