"""Training a VQ autoencoder, whose codes are then the data of a discrete diffusion model."""

from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from jumpbench.methods.common.trained import TrainedMethod
from jumpbench.metrics.images import psnr
from jumpbench.networks.vq_autoencoder import VqAutoencoder
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class VqTraining(TrainedMethod):
    """VQ-VAE (van den Oord et al. 2017): squared error, codes pulled to latents and back.

    The loss is the mean squared error of images in [-1, 1] plus both distances, that of latents to
    codes times ``commitment``. Every ``restart_every`` steps, up to step
    ``restart_until``, codes that no latent of the batch is nearest to move onto random latents of
    it: without that most of them are never used.

    The test stage gives the codes of the test images, with the PSNR of what they decode to (extra
    ``psnr``). Artifacts: ``network``; ``train`` and ``test``, the codes of all images of both
    splits; ``images``, the test images, uint8.

    Args:
        maximum: pixels are 0..maximum.
        commitment: weight of the second distance.
        restart_every: steps between restarts of codes.
        restart_until: last step with a restart.
        settings: of :class:`~jumpbench.methods.common.trained.TrainedMethod`.
    """

    network: VqAutoencoder

    keep_samples = False

    def __init__(
        self,
        network: VqAutoencoder,
        maximum: int = 255,
        commitment: float = 0.25,
        restart_every: int = 20,
        restart_until: int = 500,
        **settings: Any,
    ) -> None:
        super().__init__(network, **settings)
        self.maximum, self.commitment = maximum, commitment
        self.restart_every, self.restart_until = restart_every, restart_until

    def pixels(self, counts: Tensor) -> Tensor:
        """Images in [-1, 1]."""
        return counts.float() * (2 / self.maximum) - 1

    def training_step(self, batch: dict[str, Tensor], batch_index: int) -> Tensor:
        images = self.pixels(batch["counts"])
        self.meter.count("network", images, event_dims=3)
        decoded, to_latent, to_code, latent = self.network(images)
        if self.global_step < self.restart_until and self.global_step % self.restart_every == 0:
            self._restart(latent.detach().flatten(0, 2))
        loss = F.mse_loss(decoded, images) + to_latent + self.commitment * to_code
        return self.logged(loss)

    @torch.no_grad()
    def _restart(self, latents: Tensor) -> None:
        book = self.network.codebook
        used = torch.zeros(len(book), dtype=torch.bool, device=book.device)
        used[self.network.nearest(latents)] = True
        pick = torch.randint(
            len(latents), (len(book),), generator=self.generator("codes"), device=book.device
        )
        # In place of the data alone: the step that is under way still needs the old values.
        book.data = torch.where(used[:, None], book, latents[pick].to(book.dtype))

    @torch.no_grad()
    def draw(self, batch: dict[str, Tensor], generator: torch.Generator) -> Draws:
        counts = batch["counts"]
        codes = self.network.encode(self.pixels(counts))
        decoded = self.network.decode(codes).clamp(-1, 1)
        each = psnr((decoded + 1) / 2, counts / self.maximum)
        return Draws(codes, cost=Cost(2, 0, 2), extras={"psnr": each})

    @torch.no_grad()
    def further_artifacts(self) -> dict[str, Any]:
        data = cast(Any, self.trainer).datamodule
        weights = self.network.state_dict()
        small = torch.uint8 if self.network.codes <= 256 else torch.int16
        return {
            "network": {name: value.detach().cpu() for name, value in weights.items()},
            "images": data.table("test"),
        } | {
            split: torch.cat(
                [
                    self.network.encode(self.pixels(part.to(self.device))).to(small).cpu()
                    for part in data.table(split).split(500)
                ]
            )
            for split in ("train", "test")
        }
