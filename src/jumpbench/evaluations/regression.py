"""Predicted activities against measured ones."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.draws import Draws


class RegressionEvaluation(Evaluation):
    """``mse`` over all activities, and ``pearson``, the correlation of the first one."""

    def __init__(self) -> None:
        self.reset()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"activities": batch["activities"]}

    def reset(self) -> None:
        self.predicted: list[Tensor] = []
        self.measured: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.predicted.append(draws.samples.double())
        self.measured.append(reference["activities"].double())

    def results(self) -> dict[str, float]:
        predicted, measured = torch.cat(self.predicted), torch.cat(self.measured)
        first = torch.stack([predicted[:, 0], measured[:, 0]])
        return {
            "mse": float((predicted - measured).square().mean()),
            "pearson": float(torch.corrcoef(first)[0, 1]) if len(predicted) > 1 else float("nan"),
        }
