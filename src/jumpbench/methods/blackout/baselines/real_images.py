"""Held-out images in place of samples: the floor and ceiling of every score."""

import torch

from jumpbench.data.counts import Batch
from jumpbench.methods.base import Method
from jumpbench.samplers.draws import Draws


class RealImages(Method):
    """Gives back the first held-out images of a batch of ``SampleBatches``."""

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        return Draws(batch["counts"][: int(batch["count"])])
