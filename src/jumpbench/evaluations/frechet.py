"""Judging images by a network's features: FID, Inception score, and their like."""

from collections.abc import Callable
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.metrics.frechet import FeatureMoments, frechet_distance, inception_score
from jumpbench.samplers.draws import Draws

Features = Callable[[Tensor], Tensor | tuple[Tensor, Tensor]]
"""Images uint8 (B, C, H, W) -> features (B, F), or these and class logits (B, K)."""


class FeatureMomentsEvaluation(Evaluation):
    """Mean and covariance (n - 1, float64) of the features of all draws: a reference.

    Results: ``reference_count``. Artifacts: it, ``mean``, ``covariance``, and ``probe`` and
    ``probed``, an image and its features, by which a judge with another network is found out.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.moments = FeatureMoments()
        self._probe: dict[str, Tensor] = {}

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        features = draws.extras["features"]
        self.moments.update(features)
        self._probe = self._probe or {"probe": draws.samples[:1], "probed": features[:1]}

    def results(self) -> dict[str, float]:
        return {"reference_count": float(self.moments.count)}

    def artifacts(self) -> dict[str, Any]:
        mean, covariance = self.moments.compute()
        moments = {"mean": mean, "covariance": covariance, "reference_count": self.moments.count}
        return moments | self._probe


class FrechetEvaluation(Evaluation):
    """The Frechet distance of draws' features to a reference, and the Inception score's formula.

    The draws carry ``features`` and, if the network gives them, ``logits``
    (:class:`~jumpbench.methods.common.image_features.ImageFeatures`). With Inception's the two are
    FID and Inception score; with another network's they are neither, and are named otherwise.

    Results: DISTANCE to all training images (never the test set); SCORE over all samples at once;
    ``DISTANCE_samples`` and ``DISTANCE_reference``, the numbers of images. Published statistics do
    not say of how many images they are.

    Args:
        reference: folder of the run that holds the training images' moments
            (:class:`FeatureMomentsEvaluation`), or a published .npz file with ``mu``, ``sigma``.
        features: the network of the draws' features. It is constructed anew for every run, so it
            loads its weights from a file or seeds them.
        scale: pixels are multiplied by it.
        distance: DISTANCE.
        score: SCORE.

    Raises:
        UserError: (when judging) the network is not the one that the reference was made with.
    """

    def __init__(
        self,
        reference: str,
        features: Features,
        scale: int = 1,
        distance: str = "frechet",
        score: str = "score",
    ) -> None:
        self.reference, self.features, self.scale = reference, features, scale
        self.distance, self.score = distance, score
        self.reset()

    def reset(self) -> None:
        self._moments = FeatureMoments()
        self._logits: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._moments.update(draws.extras["features"])
        if "logits" in draws.extras:
            self._logits.append(draws.extras["logits"])

    def results(self) -> dict[str, float]:
        reference = reference_moments(self.reference)
        self._verify(reference)
        moments = reference["mean"], reference["covariance"]
        values = {
            self.distance: frechet_distance(*self._moments.compute(), *moments),
            f"{self.distance}_samples": float(self._moments.count),
        }
        if "reference_count" in reference:
            values[f"{self.distance}_reference"] = float(reference["reference_count"])
        if self._logits:
            values[self.score] = inception_score(torch.cat(self._logits).double().softmax(-1))
        return values

    def _verify(self, reference: dict[str, Any]) -> None:
        if "probe" not in reference:
            return
        again = features_of(self.features, reference["probe"].to(torch.uint8), self.scale)[0]
        probed = reference["probed"]
        if again.shape != probed.shape or not torch.allclose(again, probed, rtol=1e-3, atol=1e-3):
            raise UserError(
                "the network of features gives other features than the one that the reference was "
                "made with: it must load its weights from a file, or seed them"
            )


def reference_moments(reference: str) -> dict[str, Any]:
    """Moments of a run's folder, or of published statistics: a .npz file with ``mu``, ``sigma``.

    Raises:
        UserError: the file is absent or holds something else, or the run has not finished.
    """
    if not reference.endswith(".npz"):
        return load_artifacts(reference)
    try:
        with np.load(reference, allow_pickle=False) as file:
            mean, covariance = (torch.from_numpy(file[key]).double() for key in ("mu", "sigma"))
    except (OSError, EOFError, KeyError, ValueError, TypeError, BadZipFile) as error:
        raise UserError(f"{reference}: mu and sigma cannot be read ({error})") from error
    if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
        raise UserError(
            f"{reference}: mu {tuple(mean.shape)} and sigma {tuple(covariance.shape)} are no "
            "moments of one law; (F,) and (F, F) are needed"
        )
    return {"mean": mean, "covariance": covariance}


@torch.no_grad()
def features_of(
    network: Features,
    images: Tensor,
    scale: int = 1,
    batch_size: int = 250,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor | None]:
    """Features (N, F) of images uint8 (N, C, H, W) and, if the network gives them, logits (N, K).

    Both are on the CPU, as the network gives them.

    Raises:
        UserError: the network gives something else than a row of features for each image.
    """
    if isinstance(network, torch.nn.Module):
        network = network.to(device).eval()
    rows: list[Tensor] = []
    logits: list[Tensor] = []
    for part in images.split(batch_size):
        outputs: Any = network((part * scale).to(device))
        features, *further = outputs if isinstance(outputs, tuple) else (outputs,)
        if features.ndim != 2 or len(features) != len(part):
            raise UserError(
                f"the network of features gives {tuple(features.shape)} for {len(part)} images; "
                f"({len(part)}, F) is needed"
            )
        rows.append(features.cpu())
        logits += [further[0].cpu()] if further else []
    return torch.cat(rows), torch.cat(logits) if logits else None
