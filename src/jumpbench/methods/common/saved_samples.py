"""Samples of a finished run, judged once more and by another measure."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts
from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.samplers.draws import Draws


class SavedSamples(Method):
    """Gives the ``samples`` of a run's artifacts in equal batches; batches are their numbers.

    Args:
        folder: of the finished run.
        batches: how many there are.
        options: of :class:`~jumpbench.methods.common.base.Method`.

    Raises:
        UserError: fewer samples than batches.
    """

    keep_samples = False

    def __init__(self, folder: str | Path, batches: int = 1, **options: Any) -> None:
        super().__init__(**options)
        self.folder, self.batches = folder, batches
        self._samples: Tensor | None = None

    def draw(self, batch: Tensor, generator: torch.Generator) -> Draws:
        if self._samples is None:
            self._samples = load_artifacts(self.folder)["samples"]
            if len(self._samples) < self.batches:
                raise UserError(
                    f"{self.folder} holds {len(self._samples)} samples, fewer than "
                    f"{self.batches} batches"
                )
        return Draws(self._samples.tensor_split(self.batches)[int(batch)])
