"""A classifier of images, trained as a run of its own: the features by which others are judged."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from jumpbench.data.counts import Batch
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.base import Method
from jumpbench.metrics.frechet import FeatureMoments
from jumpbench.networks.image_classifier import ImageClassifier
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class Accuracy(Evaluation):
    """Share of predicted labels that are right (``accuracy``)."""

    def __init__(self) -> None:
        self.reset()

    def keep(self, batch: Batch) -> dict[str, Tensor]:
        return {"labels": batch["labels"]}

    def reset(self) -> None:
        self._right, self._total = 0, 0

    def update(self, draws: Draws, kept: dict[str, Tensor]) -> None:
        self._right += int((draws.samples == kept["labels"]).sum())
        self._total += len(draws)

    def results(self) -> dict[str, float]:
        return {"accuracy": self._right / max(self._total, 1)}


class TrainedClassifier(Method):
    """Cross-entropy on batches of ``counts`` and ``labels``.

    Artifacts, for :class:`~jumpbench.evaluations.images.ImageScores`: ``weights`` of the network,
    ``mean`` and ``covariance`` of its features over ``reference`` training images, their number
    ``reference_count``, and ``nearest``, the training images in which neighbours are looked for.

    Args:
        network: the classifier.
        optimizer: parameters -> optimiser.
        reference: training images behind the moments (0: all).
        nearest: training images that are kept (0: none).
        options: of :class:`~jumpbench.methods.base.Method`.
    """

    keep_samples = False

    def __init__(
        self,
        network: ImageClassifier,
        optimizer: Callable[[Iterable[nn.Parameter]], Optimizer],
        reference: int = 0,
        nearest: int = 0,
        **options: Any,
    ) -> None:
        options.setdefault("evaluation", Accuracy())
        super().__init__(**options)
        self.network, self._optimizer = network, optimizer
        self.reference, self.nearest = reference, nearest

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        return nn.functional.cross_entropy(self.network(batch["counts"]), batch["labels"])

    def configure_optimizers(self) -> Optimizer:
        return self._optimizer(self.network.parameters())

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        predicted = self.network(batch["counts"]).argmax(-1)
        return Draws(predicted, cost=Cost(network_evaluations=1.0, sequential_steps=1.0))

    def further_artifacts(self) -> dict[str, Any]:
        images = self.trainer.datamodule.table("train")
        chosen = images[: self.reference or len(images)]
        moments = FeatureMoments()
        for part in chosen.split(5000):
            moments.update(self.network.judged(part)[0])
        mean, covariance = moments.compute()
        return {
            "weights": {k: v.cpu() for k, v in self.network.state_dict().items()},
            "mean": mean,
            "covariance": covariance,
            "reference_count": moments.count,
            "nearest": images[: self.nearest].clone(),
        }
