"""Reference statistics of the Frechet distance in a network of one's own, as a run of its own."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.data.counts import CountData
from jumpbench.evaluations.features import Features, features_of
from jumpbench.methods.common.base import Method
from jumpbench.metrics.frechet import FeatureMoments
from jumpbench.samplers.draws import Draws


class FeatureMomentsOf(Method):
    """Artifacts ``mean``, ``covariance`` and ``reference_count`` of all training images, unflipped.

    Also ``probe`` and ``probed``, an image and its features, by which a judge with another network
    is found out.

    Args:
        images: the DataModule.
        features: the network, see :class:`~jumpbench.evaluations.features.FeatureEvaluation`.
        scale: pixels are multiplied by it.
        options: of :class:`~jumpbench.methods.common.base.Method`.
    """

    keep_samples = False

    def __init__(
        self, images: CountData, features: Features, scale: int = 1, **options: Any
    ) -> None:
        super().__init__(**options)
        # In a list: the network is no part of the method, and is never saved with it.
        self.images, self.scale, self._features = images, scale, [features]

    def draw(self, batch: Tensor, generator: torch.Generator) -> Draws:
        train, (features,) = self.images.table("train"), self._features
        self._moments = FeatureMoments()
        for part in train.split(5000):
            self._moments.update(features_of(features, part, self.scale)[0])
        self._probe = train[:1].clone()
        self._probed = features_of(features, self._probe, self.scale)[0]
        return Draws(torch.zeros(1, dtype=torch.long))

    def further_artifacts(self) -> dict[str, Any]:
        mean, covariance = self._moments.compute()
        return {
            "mean": mean, "covariance": covariance, "reference_count": self._moments.count,
            "probe": self._probe, "probed": self._probed,
        }  # fmt: skip
