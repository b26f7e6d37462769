"""Super-resolution in the codes of a VQ autoencoder (SGDD, Table 8)."""

from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from jumpbench.artifacts import load_weights
from jumpbench.data.tokens import Batch
from jumpbench.errors import UserError
from jumpbench.methods.sgdd.likelihoods import InverseProblem, check_sigma, squared
from jumpbench.networks.vq_autoencoder import VqAutoencoder


def shrunk(images: Tensor, factor: int) -> Tensor:
    """Images (B, C, H, W) at 1/factor of their size: bicubic, antialiased."""
    size = [side // factor for side in images.shape[-2:]]
    return interpolate(images, size=size, mode="bicubic", antialias=True, align_corners=False)


class SuperResolution:
    """log p(y|x) = -||A dec(x) - y||^2 / sigma^2, y = A image, images in [-1, 1].

    A makes an image ``factor`` times smaller. Each row of a batch has its own ``images``.

    Args:
        length: D, codes of an image.
        autoencoder: decodes codes (B, D).
        weights: folder of the run that trained it; None: as it is.
        factor: of the sizes.
        sigma: noise scale; 0.01 in the paper's code.
        maximum: pixels of the batch are 0..maximum.
        max_batch: codes that are decoded at once.

    Raises:
        UserError: weights that are missing or do not fit; sigma not positive.
    """

    def __init__(
        self,
        length: int,
        autoencoder: VqAutoencoder,
        weights: str | Path | None = None,
        factor: int = 4,
        sigma: float = 0.01,
        maximum: int = 255,
        max_batch: int = 500,
    ) -> None:
        check_sigma(sigma, UserError)
        self.length, self.n_states = length, autoencoder.codes
        self.factor, self.sigma, self.maximum = factor, sigma, maximum
        self.max_batch = max_batch
        self.autoencoder = load_weights(autoencoder, weights).requires_grad_(False).eval()

    def predicted(self, codes: Tensor) -> Tensor:
        """A dec(x), (B, m), of codes (B, D)."""
        self.autoencoder.to(codes.device)
        parts = [
            shrunk(self.autoencoder.decode(part), self.factor).flatten(1)
            for part in codes.split(self.max_batch)
        ]
        return torch.cat(parts)

    def likelihood(self, batch: Batch) -> InverseProblem:
        images = batch["images"].float() * (2 / self.maximum) - 1
        observed = shrunk(images, self.factor).flatten(1)
        return InverseProblem(self.predicted, observed, squared, self.sigma**2)

    def n_chains(self, batch: Batch) -> int:
        return len(batch["states"])
