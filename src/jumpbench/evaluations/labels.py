"""Predicted labels against true ones."""

from typing import Any

from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.draws import Draws


class LabelEvaluation(Evaluation):
    """``accuracy``: percentage of the samples (B,) that equal the batch's ``labels``."""

    def __init__(self) -> None:
        self.reset()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"labels": batch["labels"]}

    def reset(self) -> None:
        self.right = self.total = 0

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.right += int((draws.samples == reference["labels"]).sum())
        self.total += len(draws)

    def results(self) -> dict[str, float]:
        return {"accuracy": 100 * self.right / self.total}
