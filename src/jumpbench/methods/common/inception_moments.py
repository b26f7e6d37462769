"""Reference statistics of FID, made once as a run of its own."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.data.counts import CountData
from jumpbench.evaluations.images import inception
from jumpbench.methods.common.base import Method
from jumpbench.metrics.frechet import FeatureMoments
from jumpbench.samplers.draws import Draws


class InceptionMoments(Method):
    """Artifacts ``mean``, ``covariance`` and ``reference_count`` of all training images, unflipped.

    Args:
        images: the DataModule.
        scale: pixels are multiplied by it.
        weights: file of the Inception network, if not where it is looked for.
        options: of :class:`~jumpbench.methods.common.base.Method`.

    Raises:
        DataMissing: torch-fidelity or its weights are not here.
    """

    keep_samples = False

    def __init__(
        self, images: CountData, scale: int = 1, weights: str | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.images, self.scale, self.weights = images, scale, weights

    def draw(self, batch: Tensor, generator: torch.Generator) -> Draws:
        moments = FeatureMoments()
        for part in self.images.table("train").split(5000):
            moments.update(inception(part, self.scale, weights=self.weights)[0])
        self._moments = moments
        return Draws(torch.zeros(1, dtype=torch.long))

    def further_artifacts(self) -> dict[str, Any]:
        mean, covariance = self._moments.compute()
        return {
            "mean": mean, "covariance": covariance, "reference_count": self._moments.count,
        }  # fmt: skip
