"""Predicted labels against true ones."""

from typing import Any

from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.draws import Draws


class LabelEvaluation(Evaluation):
    """``accuracy``: percentage of the samples (B, 1) that equal the batch's ``label`` (B,)."""

    def __init__(self) -> None:
        self.reset()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"label": batch["label"]}

    def reset(self) -> None:
        self.right = self.total = 0

    def update(self, draws: Draws, kept: dict[str, Tensor]) -> None:
        self.right += int((draws.samples[:, 0] == kept["label"]).sum())
        self.total += len(draws)

    def results(self) -> dict[str, float]:
        return {"accuracy": 100 * self.right / self.total}
