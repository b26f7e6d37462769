"""The contract between what samples and what judges."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from jumpbench.samplers.draws import Draws


class Evaluation(ABC):
    """Judges the draws of one problem; knows no method.

    The test stage calls :meth:`keep` when a batch is drawn, and afterwards, on one process and
    with all tensors on the CPU, :meth:`reset`, then :meth:`update` for every batch in the order of
    its number, then :meth:`results`: the outcome depends neither on devices nor on stops.
    """

    def keep(self, batch: Any) -> dict[str, Tensor]:
        """What of a test batch judging needs (a measurement, a true order); by default nothing."""
        return {}

    @abstractmethod
    def reset(self) -> None:
        """Forget all batches."""

    @abstractmethod
    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        """Take in one batch of draws and what :meth:`keep` gave of it."""

    @abstractmethod
    def results(self) -> dict[str, float]:
        """Metrics by name, in float64: also what a perfect sampler would score (floors)."""

    def artifacts(self) -> dict[str, Any]:
        """Tensors and plain values for figures and for runs that need this one."""
        return {}
