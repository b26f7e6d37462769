"""Means of what a sampler says about each of its samples."""

from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.draws import Draws


class ExtrasEvaluation(Evaluation):
    """The mean over all samples of every extra with one number a sample, under its name."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        for name, value in draws.extras.items():
            if value.ndim == 1:
                self._sums[name] = self._sums.get(name, 0.0) + float(value.double().sum())
                self._counts[name] = self._counts.get(name, 0) + len(value)

    def results(self) -> dict[str, float]:
        return {name: total / self._counts[name] for name, total in self._sums.items()}
