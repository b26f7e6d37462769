"""What methods with one trained network share: optimiser, learning rate, clipping."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.base import Method

LOG_EVERY = 50


class TrainedMethod(Method):
    """A network, an optimiser, and a learning rate that is stepped per update.

    Args:
        network: what is trained.
        optimizer: parameters -> optimiser.
        scheduler: optimiser -> schedule (see :mod:`jumpbench.methods.common.learning_rates`).
        evaluation: see :class:`~jumpbench.methods.common.base.Method`.
        seed: likewise.
        compile: compile the network's ``forward`` (``torch.compile``), in training and test; every
            new shape of a batch takes its time to compile.
    """

    network: nn.Module

    def __init__(
        self,
        network: nn.Module,
        optimizer: Callable[[Any], Optimizer],
        scheduler: Callable[[Optimizer], LRScheduler] | None = None,
        evaluation: Evaluation | None = None,
        seed: int = 0,
        compile: bool = False,
    ) -> None:
        super().__init__(seed, evaluation)
        self.network = network
        self._optimizer, self._scheduler = optimizer, scheduler
        if compile:
            network.compile()  # in place: weights keep their names

    def configure_optimizers(self) -> Any:
        optimizer = self._optimizer(self.network.parameters())
        if self._scheduler is None:
            return optimizer
        schedule = {"scheduler": self._scheduler(optimizer), "interval": "step"}
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        # Lightning refuses fused optimisers in mixed precision for the sake of a gradient scaler,
        # which bfloat16 does not use.
        if gradient_clip_val:
            nn.utils.clip_grad_norm_(self.network.parameters(), gradient_clip_val)

    def logged(self, loss: Tensor) -> Tensor:
        """The loss, logged every 50 steps (reading it waits for the device)."""
        if (self.global_step + 1) % LOG_EVERY == 0:
            self.log("train/loss", loss.detach())
        return loss
