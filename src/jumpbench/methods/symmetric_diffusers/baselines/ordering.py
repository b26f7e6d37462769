"""What the baselines that order a list in one pass share: selection by validation, the answer."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from jumpbench.data.lists import Batch
from jumpbench.methods.common.trained import TrainedMethod
from jumpbench.processes.permutations import inverse
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws

FIRST = 5  # objects of a list that the validation accuracy of the public code looks at


class OrderingBaseline(TrainedMethod, ABC):
    """A trained network that orders a list in one pass: :meth:`order` of the objects.

    Where the DataModule has validation lists, the weights with the highest validation accuracy
    (the relative order of the first five objects is right) are the ones that are tested. They are
    part of the checkpoint.
    """

    best_accuracy = -1.0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._right: list[Tensor] = []
        self._best_weights: dict[str, Tensor] = {}

    @abstractmethod
    def order(self, objects: Tensor) -> Tensor:
        """Index array h (B, n) such that ``objects[h]`` is the ordered list."""

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        self._right.append(first_right(self.order(batch["objects"]), batch["order"]))

    def on_validation_epoch_end(self) -> None:
        # Before ``on_validation_end``, where a checkpoint may be written.
        right, self._right = torch.cat(self._right).double(), []
        counts = self.trainer.strategy.reduce(
            torch.stack([right.sum(), right.new_tensor(len(right))]), reduce_op="sum"
        )
        accuracy = float(counts[0] / counts[1])
        self.log("valid/first_accuracy", accuracy)
        if accuracy > self.best_accuracy and not self.trainer.sanity_checking:
            self.best_accuracy = accuracy
            self._best_weights = _copy(self.network.state_dict())

    def on_test_start(self) -> None:
        if self._best_weights:
            self.network.load_state_dict(self._best_weights)

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        return Draws(self.order(batch["objects"]), cost=Cost(1.0, sequential_steps=1.0))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["best"] = {"accuracy": self.best_accuracy, "weights": self._best_weights}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.best_accuracy = checkpoint["best"]["accuracy"]
        self._best_weights = _copy(checkpoint["best"]["weights"])


def first_right(predicted: Tensor, order: Tensor) -> Tensor:
    """Whether the first five objects of every list are in the right order among themselves.

    ``predicted`` and the true ``order`` are index arrays (B, n); the result is bool (B,).
    """
    ranks = (inverse(index)[:, :FIRST].argsort(-1) for index in (predicted, order))
    return torch.eq(*ranks).all(-1)


def _copy(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}
