"""Networks that judge samples, trained as runs of the suite: classifiers and regressors."""

from abc import abstractmethod
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from jumpbench.methods.common.trained import TrainedMethod
from jumpbench.metrics.frechet import FeatureMoments
from jumpbench.networks.image_classifier import ImageClassifier
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class Supervised(TrainedMethod):
    """Training of a network on states and what is known of them.

    The test stage "draws" an answer for every state. The artifact ``network`` holds the weights.

    Args:
        inputs: what the batches call the states.
        settings: of :class:`~jumpbench.methods.common.trained.TrainedMethod`.
    """

    keep_samples = False

    def __init__(self, inputs: str = "states", **settings: Any) -> None:
        super().__init__(**settings)
        self.inputs = inputs

    @abstractmethod
    def loss(self, outputs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """Of the network's outputs, a number."""

    @abstractmethod
    def answer(self, outputs: Tensor) -> Tensor:
        """What the outputs say about each state, (B, ...)."""

    def training_step(self, batch: dict[str, Tensor], batch_index: int) -> Tensor:
        outputs = self.network(batch[self.inputs])
        self.meter.count("network", outputs)
        return self.logged(self.loss(outputs, batch))

    @torch.no_grad()
    def draw(self, batch: dict[str, Tensor], generator: torch.Generator) -> Draws:
        return Draws(self.answer(self.network(batch[self.inputs])), cost=Cost(1, 0, 1))

    def further_artifacts(self) -> dict[str, Any]:
        weights = self.network.state_dict()
        return {"network": {name: value.detach().cpu() for name, value in weights.items()}}


class Classification(Supervised):
    """Cross-entropy against ``labels`` (B,) of logits (B, classes); answers the most probable."""

    def loss(self, outputs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return F.cross_entropy(outputs, batch["labels"])

    def answer(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(-1)


class Regression(Supervised):
    """Mean squared error of outputs (B, k) against ``activities`` (B, k); answers the outputs."""

    def loss(self, outputs: Tensor, batch: dict[str, Tensor]) -> Tensor:
        return F.mse_loss(outputs, batch["activities"])

    def answer(self, outputs: Tensor) -> Tensor:
        return outputs


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

    network: ImageClassifier

    def __init__(self, reference: int = 0, nearest: int = 0, **settings: Any) -> None:
        super().__init__(inputs="counts", **settings)
        self.reference, self.nearest = reference, nearest

    def further_artifacts(self) -> dict[str, Any]:
        images = cast(Any, self.trainer).datamodule.table("train")
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
