"""Codes of images, decoded, against the true images."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts, load_weights
from jumpbench.data.files import socket_timeout
from jumpbench.data.weights import VGG16, as_torch_hub
from jumpbench.errors import DataMissing, UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.metrics.images import psnr
from jumpbench.networks.vq_autoencoder import VqAutoencoder
from jumpbench.samplers.draws import Draws

PATIENCE_SECONDS = 20.0


class DecodedImageEvaluation(ExtrasEvaluation):
    """Results: ``psnr`` of decoded samples to the batch's ``images``, its standard deviation over
    images ``psnr_std``; ``psnr_ceiling``, that of the true images' own codes; means of the extras.
    Artifacts: ``images``, decoded samples, and ``truth``, both uint8 0..255.

    Args:
        autoencoder: decodes codes (B, D) to images in [-1, 1].
        weights: folder of the run that trained it.
        maximum: pixels of the batch are 0..maximum.
    """

    def __init__(
        self, autoencoder: VqAutoencoder, weights: str | Path | None = None, maximum: int = 255
    ) -> None:
        self.autoencoder, self.weights, self.maximum = autoencoder, weights, maximum
        super().__init__()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"images": batch["images"], "states": batch["states"]}

    def reset(self) -> None:
        super().reset()
        self.samples: list[Tensor] = []
        self.codes: list[Tensor] = []
        self.truth: list[Tensor] = []
        self._images = torch.empty(0)

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.samples.append(draws.samples)
        self.codes.append(reference["states"].long())
        self.truth.append(reference["images"])
        super().update(draws, reference)

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        network = load_weights(self.autoencoder, self.weights).cpu().eval()
        truth = torch.cat(self.truth).double() / self.maximum

        def pixels(codes: list[Tensor]) -> Tensor:
            parts = torch.cat(codes).split(100)
            return torch.cat([(network.decode(p).clamp(-1, 1) + 1) / 2 for p in parts])

        self._images = pixels(self.samples)
        each = psnr(self._images, truth)
        return super().results() | {
            "psnr": float(each.mean()),
            "psnr_std": float(each.std()) if len(each) > 1 else 0.0,
            "psnr_ceiling": float(psnr(pixels(self.codes), truth).mean()),
        }

    def artifacts(self) -> dict[str, Any]:
        truth = (torch.cat(self.truth).double() * (255 / self.maximum)).round()
        shown = (255 * self._images).round()
        return {"images": shown.to(torch.uint8), "truth": truth.to(torch.uint8)}


class PerceptualEvaluation(Evaluation):
    """Results: ``lpips``, the mean learned perceptual distance of a run's ``images`` to its
    ``truth``, and ``lpips_std`` over images: torchmetrics' LPIPS on images in [0, 1].

    Its linear layers come with torchmetrics; the features are those of VGG16, trained on ImageNet
    (:data:`jumpbench.data.weights.VGG16`).

    Args:
        folder: of the run whose images are judged.
        network: ``vgg`` (the paper), ``alex`` or ``squeeze``.

    Raises:
        DataMissing: the features' weights are not here and cannot be fetched.
        UserError: the run has no images.
    """

    def __init__(self, folder: str | Path, network: str = "vgg") -> None:
        self.folder, self.network = folder, network

    def reset(self) -> None:
        """Nothing is collected: the images are in the run's folder."""

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        """The draws were judged by their own run."""

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        artifacts = load_artifacts(self.folder)
        if "images" not in artifacts or "truth" not in artifacts:
            raise UserError(f"{self.folder} has no images and true images to compare")
        metric = perceptual_metric(self.network)
        images, truth = (
            (artifacts[name].float() / 255).expand(-1, 3, -1, -1) for name in ("images", "truth")
        )
        each = torch.stack([metric(a[None], b[None]) for a, b in zip(images, truth, strict=True)])
        spread = float(each.double().std()) if len(each) > 1 else 0.0
        return {"lpips": float(each.double().mean()), "lpips_std": spread}


def perceptual_metric(network: str) -> Any:
    """torchmetrics' LPIPS for images in [0, 1]; raises DataMissing without its weights."""
    from torchmetrics.image.lpip import LearnedPerceptualImagePatchSimilarity

    with ExitStack() as stack:
        if network == "vgg":
            stack.enter_context(as_torch_hub(VGG16.obtain()))
        stack.enter_context(socket_timeout(PATIENCE_SECONDS))
        try:
            return LearnedPerceptualImagePatchSimilarity(cast(Any, network), normalize=True).eval()
        except (OSError, RuntimeError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise DataMissing(
                f"lpips: the {network} features are not here and cannot be fetched ({reason}); put "
                "torchvision's ImageNet weights of it into "
                f"{Path(torch.hub.get_dir()) / 'checkpoints'}"
            ) from None
