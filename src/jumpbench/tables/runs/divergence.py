"""Training whose weights are none that a network can have is a failed run, with its reason.

A weight has diverged that is not finite, or beyond ``FACTOR`` times the largest entry that any
weight had when training began (1, if that is larger). Adam's steps are about as long as the
learning rate, so a weight moves by about the sum of the rates, which is 300 in the longest training
of the tables; and beside an entry of a million times the initial scale, float32 leaves four of its
24 bits of one of that scale.
"""

import math
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer

from jumpbench.errors import Diverged

FACTOR = 1e6


class FiniteTraining(Callback):
    """Training that diverges fails; its weights reach no checkpoint, no test.

    Weights and the logged loss are looked at every ``every`` steps (one transfer from the device
    each time), before a checkpoint, and when training ends. A logged ``train/invalid`` of 1 says
    that no step of a simulation had usable rates. The initial scale is part of checkpoints.
    """

    def __init__(self, every: int = 100) -> None:
        self._every, self._looked = every, 0
        self._limit: float | None = None

    def state_dict(self) -> dict[str, Any]:
        return {"limit": self._limit}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._limit = state_dict["limit"]

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._looked = trainer.global_step
        if self._limit is None:
            largest = largest_entries(pl_module)
            initial = float(largest[largest.isfinite()].amax()) if largest.isfinite().any() else 0.0
            self._limit = FACTOR * max(initial, 1.0)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        if trainer.global_step - self._looked >= self._every:
            self._look(trainer, pl_module)

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self._look(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._look(trainer, pl_module)

    def _look(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Raises :class:`Diverged`."""
        self._looked = trainer.global_step
        logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
        wrong = [
            f"{name} is {value}"
            for name, value in logged.items()
            if (name.endswith("loss") and not math.isfinite(value))
            or (name == "train/invalid" and value >= 1.0)
        ]
        wrong += self.beyond(pl_module)
        if wrong:
            raise Diverged(
                f"training diverged by step {self._looked}: {', '.join(wrong)}; "
                "a lower learning rate may help"
            )

    def beyond(self, module: torch.nn.Module) -> list[str]:
        """What is wrong with the weights, in words; one transfer per device."""
        largest = largest_entries(module)
        finite = largest.isfinite()
        not_finite = int((~finite).sum())
        large = int((finite & (largest > (self._limit or math.inf))).sum())
        kinds = [(not_finite, "not finite"), (large, f"above {self._limit:g}" if large else "")]
        return [f"{n} of {len(largest)} weight tensors are {what}" for n, what in kinds if n]

    def diverged(self, module: torch.nn.Module, step: int, error: Exception) -> Diverged | None:
        """What ``error``, raised in training, comes from, if the weights are beyond use."""
        if not (beyond := self.beyond(module)):
            return None
        what = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        return Diverged(
            f"training diverged by step {step}: {', '.join(beyond)} "
            f"({what[:120] or type(error).__name__}); a lower learning rate may help"
        )


def largest_entries(module: torch.nn.Module) -> torch.Tensor:
    """The largest absolute entry of every parameter tensor, on one device."""
    parameters = [p.detach() for p in module.parameters() if p.is_floating_point() and p.numel()]
    if not parameters:
        return torch.zeros(0)
    # A sum of squares may overflow where all entries are finite; the largest entry cannot.
    return torch.stack([x.float() for x in torch._foreach_norm(parameters, math.inf)])
