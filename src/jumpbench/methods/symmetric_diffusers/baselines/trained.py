"""What the trained baselines share: optimiser, dropout across resumes, selection by validation."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.data.lists import Batch
from jumpbench.methods.base import Method
from jumpbench.methods.symmetric_diffusers.evaluation import ListScores
from jumpbench.processes.permutations import inverse

FIRST = 5  # objects of a list that the validation accuracy of the public code looks at
VALIDATION = "valid/first_accuracy"


class TrainedBaseline(Method):
    """A network, an optimiser and a rate that is stepped per update.

    Args:
        network: what is trained.
        optimizer: parameters -> optimiser.
        rate: optimiser -> learning-rate schedule.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: Callable[[Any], Optimizer],
        rate: Callable[[Optimizer], LRScheduler] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self.network = network
        self._optimizer, self._rate = optimizer, rate

    def configure_optimizers(self) -> Any:
        optimizer = self._optimizer(self.network.parameters())
        if self._rate is None:
            return optimizer
        schedule = {"scheduler": self._rate(optimizer), "interval": "step"}
        return {"optimizer": optimizer, "lr_scheduler": schedule}


class OrderingBaseline(TrainedBaseline, ABC):
    """A trained network that orders a list in one pass: :meth:`order` of the objects.

    Where the DataModule has validation lists, the weights with the highest validation accuracy
    (the relative order of the first five objects is right) are the ones that are tested.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: Callable[[Any], Optimizer],
        rate: Callable[[Optimizer], LRScheduler] | None = None,
        scores: Callable[[], ListScores] = ListScores,
        seed: int = 0,
    ) -> None:
        super().__init__(network, optimizer, rate, seed)
        self.scores = scores()
        self.best_accuracy = -1.0
        self._best_weights: dict[str, Tensor] = {}

    @abstractmethod
    def order(self, objects: Tensor) -> Tensor:
        """Index array h ``(B, n)`` such that ``objects[h]`` is the ordered list."""

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        right = first_right(self.order(batch["objects"]), batch["order"]).float()
        self.log(VALIDATION, right.mean(), batch_size=len(right), sync_dist=True)

    def on_validation_epoch_end(self) -> None:
        if self.trainer.sanity_checking:
            return
        accuracy = float(self.trainer.callback_metrics[VALIDATION])
        if accuracy > self.best_accuracy:
            self.best_accuracy = accuracy
            self._best_weights = _copy(self.network.state_dict())

    def on_test_start(self) -> None:
        if self._best_weights:
            self.network.load_state_dict(self._best_weights)

    def test_step(self, batch: Batch, batch_index: int) -> None:
        self.scores.update(self.order(batch["objects"]), batch, self.trainer.datamodule)

    def on_test_epoch_end(self) -> None:
        self.log_dict({f"test/{name}": value for name, value in self.scores.compute().items()})
        self.scores.reset()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["best"] = {"accuracy": self.best_accuracy, "weights": self._best_weights}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.best_accuracy = checkpoint["best"]["accuracy"]
        self._best_weights = _copy(checkpoint["best"]["weights"])


def first_right(found: Tensor, order: Tensor) -> Tensor:
    """Whether the first five objects of every list are in the right order among themselves.

    ``found`` and the true ``order`` are index arrays ``(B, n)``; the result is bool ``(B,)``.
    """
    ranks = (inverse(index)[:, :FIRST].argsort(-1) for index in (found, order))
    return torch.eq(*ranks).all(-1)


def _copy(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}
