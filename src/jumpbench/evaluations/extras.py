"""Means of what a sampler says about each of its samples."""

import torch
from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.draws import Draws


class ExtrasEvaluation(Evaluation):
    """Mean of every extra with one number a sample, under its name, and deviation, ``NAME_std``."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._values: dict[str, list[Tensor]] = {}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        for name, value in draws.extras.items():
            if value.ndim == 1:
                self._values.setdefault(name, []).append(value.double())

    def results(self) -> dict[str, float]:
        values = {name: torch.cat(parts) for name, parts in self._values.items()}
        spreads = {f"{name}_std": float(v.std()) for name, v in values.items() if len(v) > 1}
        return {name: float(v.mean()) for name, v in values.items()} | spreads
