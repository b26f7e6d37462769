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

    With their ``log_weights``, if any, and the plain numbers ``values`` of the artifacts as extras.

    Args:
        folder: of the finished run.
        whole: the one batch gives all samples of the run, however many these are.
        options: of :class:`~jumpbench.methods.common.base.Method`.

    Raises:
        UserError: the run has fewer samples; several batches of a whole run.
    """

    keep_samples = False

    def __init__(self, folder: str | Path, whole: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.folder, self.whole = folder, whole
        self._saved: dict[str, Any] = {}

    def draw(self, batch: Tensor, generator: torch.Generator) -> Draws:
        self._saved = self._saved or load_artifacts(self.folder)
        weights, chosen = self._saved.get("log_weights"), batch.cpu()
        if self.whole:
            if self._count > 1:
                raise UserError("all samples of a run are one batch: set data.batch_size")
            chosen = torch.arange(len(self._saved["samples"]))
        samples = numbered(self._saved["samples"], chosen, self.folder)
        extras = {
            name: torch.full((len(chosen),), float(value), dtype=torch.float64)
            for name, value in self._saved.get("values", {}).items()
        }
        weights = None if weights is None else weights[chosen]
        return Draws(samples, weights, extras=extras)


def numbered(samples: Tensor, numbers: Tensor, folder: str | Path) -> Tensor:
    """The samples of a run in ``folder`` that ascending ``numbers`` name.

    Raises:
        UserError: there are fewer.
    """
    if (last := int(numbers[-1])) >= len(samples):
        raise UserError(
            f"{folder} holds {len(samples)} samples, fewer than the {last + 1} that are to be "
            "judged: lower data.n_samples"
        )
    return samples[numbers]
