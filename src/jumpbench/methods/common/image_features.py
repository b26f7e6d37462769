"""Features of images by a network that is not trained here."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts
from jumpbench.evaluations.frechet import Features, features_of
from jumpbench.methods.common.base import Method
from jumpbench.methods.common.saved_samples import numbered
from jumpbench.samplers.draws import Draws


class ImageFeatures(Method):
    """Draws that are given images, with ``features`` and perhaps ``logits`` among their extras.

    A batch is a part of a run as any other: devices share the batches, and one that was looked at
    is not looked at again when the run resumes.

    Args:
        features: the network, see :data:`~jumpbench.evaluations.frechet.Features`.
        folder: of a finished run, whose samples the batches number; without it the batches are the
            images (:class:`~jumpbench.data.training_images.TrainingImages`).
        scale: pixels are multiplied by it.
        options: of :class:`~jumpbench.methods.common.base.Method`.

    Raises:
        UserError: the run has fewer samples.
    """

    keep_samples = False

    def __init__(
        self, features: Features, folder: str | Path | None = None, scale: int = 1, **options: Any
    ) -> None:
        super().__init__(**options)
        # In a list: the network is no part of the method, and is never saved with it.
        self.folder, self.scale, self._features = folder, scale, [features]
        self._samples: Tensor | None = None

    def draw(self, batch: Tensor, generator: torch.Generator) -> Draws:
        images = batch if self.folder is None else self._numbered(batch.cpu(), self.folder)
        (network,) = self._features
        features, logits = features_of(network, images.byte(), self.scale, device=self.device)
        extras = {"features": features} if logits is None else {
            "features": features, "logits": logits,
        }  # fmt: skip
        return Draws(images, extras=extras)

    def _numbered(self, numbers: Tensor, folder: str | Path) -> Tensor:
        if self._samples is None:
            self._samples = load_artifacts(folder)["samples"]
        return numbered(self._samples, numbers, folder)
