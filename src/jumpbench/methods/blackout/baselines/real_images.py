"""Held-out images in place of samples: what real images score."""

import torch

from jumpbench.data.counts import Batch
from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.samplers.draws import Draws


class RealImages(Method):
    """Gives back the first held-out images of a batch of ``SampleBatches``.

    Raises:
        UserError: batches with fewer held-out images than samples.
    """

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        images = batch["counts"][: int(batch["count"])]
        if len(images) < int(batch["count"]):
            raise UserError(
                "real images in place of samples: set sampling.held_out=1, and data.n_samples to "
                "the number of held-out images at most"
            )
        return Draws(images)
