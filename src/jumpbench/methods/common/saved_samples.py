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
    """Gives the ``samples`` of a run's artifacts; batches are their numbers.

    Args:
        folder: of the finished run.
        options: of :class:`~jumpbench.methods.common.base.Method`.

    Raises:
        UserError: the run has fewer samples.
    """

    keep_samples = False

    def __init__(self, folder: str | Path, **options: Any) -> None:
        super().__init__(**options)
        self.folder = folder
        self._samples: Tensor | None = None

    def draw(self, batch: Tensor, generator: torch.Generator) -> Draws:
        if self._samples is None:
            self._samples = load_artifacts(self.folder)["samples"]
        if (last := int(batch[-1])) >= len(self._samples):
            raise UserError(
                f"{self.folder} holds {len(self._samples)} samples, fewer than the {last + 1} that "
                "are to be judged: lower data.n_samples"
            )
        return Draws(self._samples[batch.cpu()])
