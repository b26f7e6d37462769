"""Images for figures, and whether the way to them is that of the forward process."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.processes.observation_times import ObservationTimes
from jumpbench.samplers.draws import Draws


class PictureEvaluation(Evaluation):
    """Shows samples, and the states that they passed through.

    Results: ``mean``, the mean pixel over M; ``lit``, the share of pixels above 0; with kept states
    also ``path_error``, the largest difference over their times between the mean pixel of X_(t_k)
    and e^(-t_k) times that of the sample, over M: the forward process would have left so much.

    Args:
        grid: observation times.
        maximum: M.
        keep: indices k whose states are among the draws, as ``extras["path"]``, k falling.
        shown: images kept.
    """

    def __init__(
        self, grid: ObservationTimes, maximum: int, keep: tuple[int, ...] = (), shown: int = 400
    ) -> None:
        self.grid, self.maximum, self.shown = grid, maximum, shown
        self.survival = grid.survival[sorted(keep, reverse=True)]
        self.reset()

    def reset(self) -> None:
        self._images: list[Tensor] = []
        self._path: Tensor | None = None
        self._on_the_way: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._images.append(draws.samples.to(torch.int16))
        path = draws.extras.get("path")
        if path is not None:
            self._path = path if self._path is None else self._path
            self._on_the_way.append(path.double().flatten(2).mean(2))

    def results(self) -> dict[str, float]:
        images = torch.cat(self._images).double()
        mean = images.mean() / self.maximum
        values = {"mean": float(mean), "lit": float((images > 0).double().mean())}
        if self._on_the_way:
            means = torch.cat(self._on_the_way).mean(0) / self.maximum
            values["path_error"] = float((means - self.survival * mean).abs().max())
        return values

    def artifacts(self) -> dict[str, Any]:
        artifacts: dict[str, Any] = {"images": torch.cat(self._images)[: self.shown]}
        if self._path is not None:
            artifacts["path"] = self._path
        return artifacts
