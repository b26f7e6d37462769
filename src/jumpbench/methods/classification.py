"""Classifiers that judge samples, trained as runs of the suite."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from jumpbench.methods.trained import TrainedMethod
from jumpbench.metrics.frechet import FeatureMoments
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class Classification(TrainedMethod):
    """Cross-entropy training of a network on states and their ``labels``.

    The test stage "draws" the most probable label of every state, (B,). The artifact ``network``
    holds the weights.

    Args:
        inputs: what the batches call the states.
        settings: of :class:`~jumpbench.methods.trained.TrainedMethod`; the network maps states to
            logits (B, classes).
    """

    keep_samples = False

    def __init__(self, inputs: str = "states", **settings: Any) -> None:
        super().__init__(**settings)
        self.inputs = inputs

    def training_step(self, batch: dict[str, Tensor], batch_index: int) -> Tensor:
        self.meter.count("network", batch["labels"], event_dims=0)
        return self.logged(F.cross_entropy(self.network(batch[self.inputs]), batch["labels"]))

    @torch.no_grad()
    def draw(self, batch: dict[str, Tensor], generator: torch.Generator) -> Draws:
        return Draws(self.network(batch[self.inputs]).argmax(-1), cost=Cost(1, 0, 1))

    def further_artifacts(self) -> dict[str, Any]:
        weights = self.network.state_dict()
        return {"network": {name: value.detach().cpu() for name, value in weights.items()}}


class ImageClassification(Classification):
    """A classifier of images whose features judge others (:mod:`jumpbench.evaluations.images`).

    Further artifacts: ``mean`` and ``covariance`` of its features over ``reference`` training
    images, their number ``reference_count``, and ``nearest``, the training images in which
    neighbours are looked for.

    Args:
        reference: training images behind the moments (0: all).
        nearest: training images that are kept (0: none).
        settings: of :class:`Classification`.
    """

    def __init__(self, reference: int = 0, nearest: int = 0, **settings: Any) -> None:
        super().__init__(inputs="counts", **settings)
        self.reference, self.nearest = reference, nearest

    def further_artifacts(self) -> dict[str, Any]:
        images = self.trainer.datamodule.table("train")
        moments = FeatureMoments()
        for part in images[: self.reference or len(images)].split(5000):
            moments.update(self.network.judged(part)[0])
        mean, covariance = moments.compute()
        return {
            **super().further_artifacts(),
            "mean": mean,
            "covariance": covariance,
            "reference_count": moments.count,
            "nearest": images[: self.nearest].clone(),
        }
