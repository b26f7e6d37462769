"""Training that leaves the finite numbers is a failed run, with its reason."""

import math
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer

from jumpbench.errors import Diverged


class FiniteTraining(Callback):
    """Training that leaves the finite numbers fails; its weights reach no checkpoint, no test.

    Weights and the logged loss are looked at every ``every`` steps (one transfer from the device
    each time), before a checkpoint, and when training ends. A logged ``train/invalid`` of 1 says
    that no step of a simulation had usable rates.
    """

    def __init__(self, every: int = 100) -> None:
        self._every, self._looked = every, 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._looked = trainer.global_step

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
        if bad := not_finite(pl_module):
            total = sum(1 for _ in pl_module.parameters())
            wrong.append(f"{bad} of {total} weight tensors are not finite")
        if wrong:
            raise Diverged(
                f"training diverged by step {self._looked}: {', '.join(wrong)}; "
                "a lower learning rate may help"
            )


ABSURD = 1e12
"""A weight that large is none: float32 leaves nothing of what it is added to."""


def not_finite(module: torch.nn.Module) -> int:
    """Number of parameter tensors with an infinite or undefined entry; one transfer per device."""
    return int((~largest_entries(module).isfinite()).sum())


def largest_entries(module: torch.nn.Module) -> torch.Tensor:
    """The largest absolute entry of every parameter tensor."""
    parameters = [p.detach() for p in module.parameters() if p.is_floating_point() and p.numel()]
    if not parameters:
        return torch.zeros(0)
    # A sum of squares may overflow where all entries are finite; the largest entry cannot.
    return torch.stack([x.float() for x in torch._foreach_norm(parameters, math.inf)])


def diverged(module: torch.nn.Module, step: int, error: Exception) -> Diverged | None:
    """What ``error``, raised in training, comes from, if the weights are beyond use."""
    largest = largest_entries(module)
    beyond = int((~(largest < ABSURD)).sum())
    if not beyond:
        return None
    what = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return Diverged(
        f"training diverged by step {step}: {beyond} of {len(largest)} weight tensors are not "
        f"finite or above {ABSURD:g} ({what[:120] or type(error).__name__}); "
        "a lower learning rate may help"
    )
