"""Judging generated images by the features of a network of one's own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.metrics.frechet import FeatureMoments, frechet_distance, inception_score
from jumpbench.samplers.draws import Draws

Features = Callable[[Tensor], Tensor | tuple[Tensor, Tensor]]
"""Images uint8 (B, C, H, W) -> features (B, F), or these and class logits (B, K)."""


class FeatureEvaluation(Evaluation):
    """The Frechet distance of FID in the features of another network, which is therefore no FID.

    Results: ``frechet`` to all training images; ``score``, the formula of the Inception score,
    where the network gives logits too; ``frechet_samples`` and ``frechet_reference``, the numbers
    of images.

    Args:
        reference: folder of the run that holds the training images' moments
            (:class:`~jumpbench.methods.common.feature_moments.FeatureMomentsOf`).
        features: the network. It is constructed anew for the reference and here, so it loads its
            weights from a file or seeds them.
        scale: pixels are multiplied by it.
        batch_size: images at a time.

    Raises:
        UserError: (when judging) the network is not the one that the reference was made with.
    """

    def __init__(
        self, reference: str, features: Features, scale: int = 1, batch_size: int = 250
    ) -> None:
        self.reference, self.features = reference, features
        self.scale, self.batch_size = scale, batch_size
        self.reset()

    def reset(self) -> None:
        self._images: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._images.append(draws.samples.to(torch.uint8))

    def results(self) -> dict[str, float]:
        reference = load_artifacts(self.reference)
        again = features_of(self.features, reference["probe"], self.scale)[0]
        if again.shape != reference["probed"].shape or not torch.allclose(
            again, reference["probed"], rtol=1e-3, atol=1e-3
        ):
            raise UserError(
                "the network of features gives other features than the one that the reference was "
                "made with: it must load its weights from a file, or seed them"
            )
        images = torch.cat(self._images)
        features, probabilities = features_of(self.features, images, self.scale, self.batch_size)
        moments = FeatureMoments()
        moments.update(features)
        mean, covariance = moments.compute()
        return {
            "frechet": frechet_distance(
                mean, covariance, reference["mean"], reference["covariance"]
            ),
            **({} if probabilities is None else {"score": inception_score(probabilities)}),
            "frechet_samples": float(moments.count),
            "frechet_reference": float(reference["reference_count"]),
        }


@torch.no_grad()
def features_of(
    network: Features, images: Tensor, scale: int = 1, batch_size: int = 250
) -> tuple[Tensor, Tensor | None]:
    """Features (N, F) and, of a network that gives logits too, class probabilities; float64.

    Raises:
        UserError: the network gives something else than a row of features for each image.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if isinstance(network, torch.nn.Module):
        network = network.to(device).eval()
    rows: list[Tensor] = []
    probabilities: list[Tensor] = []
    for part in images.split(batch_size):
        outputs: Any = network((part * scale).to(device))
        features, *logits = outputs if isinstance(outputs, tuple) else (outputs,)
        if features.ndim != 2 or len(features) != len(part):
            raise UserError(
                f"the network of features gives {tuple(features.shape)} for {len(part)} images; "
                f"({len(part)}, F) is needed"
            )
        rows.append(features.double().cpu())
        probabilities += [logits[0].double().softmax(-1).cpu()] if logits else []
    return torch.cat(rows), torch.cat(probabilities) if probabilities else None
