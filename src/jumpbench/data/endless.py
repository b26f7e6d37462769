"""Training batches without end, by number, and where a resumed training takes them up."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from lightning import Trainer
from torch.utils.data import IterableDataset

from jumpbench.errors import UserError


class EndlessBatches(IterableDataset):
    """Batch i is ``make(i)``; the first one is that after the last step that was taken.

    A step takes ``accumulate_grad_batches`` of the trainer's batches. A method that takes several
    optimiser steps a batch says so in ``steps_per_batch``.

    Args:
        whole: what the method is given is no batch yet: it simulates its own, one a step.

    Raises:
        UserError: the trainer accumulates gradients of what is ``whole``.
    """

    def __init__(
        self, make: Callable[[int], Any], trainer: Trainer | None = None, whole: bool = False
    ) -> None:
        self._make, self._trainer = make, trainer
        if whole and trainer is not None and (parts := trainer.accumulate_grad_batches) != 1:
            raise UserError(
                f"trainer.accumulate_grad_batches={parts}: this method simulates its own batches "
                "and takes them whole; leave it at 1 and make the method's batch smaller"
            )

    def __iter__(self) -> Iterator[Any]:
        first = 0
        if self._trainer is not None:
            steps = getattr(self._trainer.lightning_module, "steps_per_batch", 1)
            taken = self._trainer.global_step * self._trainer.accumulate_grad_batches
            first = taken // steps
        return (self._make(number) for number in count(first))
