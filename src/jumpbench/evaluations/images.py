"""Judging generated images by a classifier that the suite trains."""

import math
from typing import Any

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts, load_weights
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.metrics.frechet import (
    FeatureMoments,
    frechet_distance,
    inception_score,
    nearest_hamming,
)
from jumpbench.metrics.images import contrast_distance, grey_distance
from jumpbench.networks.image_classifier import ImageClassifier
from jumpbench.samplers.draws import Draws

SURE = 0.9


class ImageEvaluation(Evaluation):
    """Scores of images in the eyes of a small classifier. None of them is an FID.

    Results:

    - ``classifier_frechet``: Frechet distance in the classifier's features to training images;
    - ``confident``: share of images with a class probability above 0.9;
    - ``classes``: number of classes that some image belongs to; ``classifier_score``: the formula
      of the Inception score on the classifier's probabilities;
    - ``nearest_hamming`` (binary images): mean number of pixels that differ from the nearest
      training image; ``mean``: mean pixel over M; ``lit``: share of pixels above 0; ``black``:
      share of images without any;
    - ``grey_distance``, ``contrast_distance`` (M > 1): Wasserstein-1 distances, in counts, of the
      histograms of pixels and of neighbours' differences to those of training images;
    - ``bound``, ``bits_per_dim``: mean of the draws' ``bound`` in nats per image, and in bits per
      site; ``bound_error``, ``bits_per_dim_error``: their standard errors over images.

    Args:
        classifier: the network, without weights; None: what needs none.
        folder: of the run that trained it (its artifacts).
        shown: images kept for figures.

    Raises:
        UserError: images of another size than the reference.
    """

    def __init__(
        self, classifier: ImageClassifier | None, folder: str | None = None, shown: int = 100
    ) -> None:
        self.classifier, self.folder, self.shown = classifier, folder, shown
        self._reference: dict[str, Any] = {}
        self.reset()

    def reset(self) -> None:
        self._images: list[Tensor] = []
        self._bounds: list[Tensor] = []
        self._path: Tensor | None = None

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._images.append(draws.samples.to(torch.int16))
        if "bound" in draws.extras:
            self._bounds.append(draws.extras["bound"].double().flatten())
        if self._path is None and "path" in draws.extras:
            self._path = draws.extras["path"]

    def results(self) -> dict[str, float]:
        images = torch.cat(self._images)
        seen = {
            "lit": float((images > 0).double().mean()),
            "black": float((images.flatten(1) == 0).all(1).double().mean()),
        } | self._likelihood(images[0].numel())
        return seen if self.classifier is None else seen | self._judged(images, self.classifier)

    def _judged(self, images: Tensor, classifier: ImageClassifier) -> dict[str, float]:
        reference = self._load(images, classifier)
        features, probabilities = classifier.judged(images)
        moments = FeatureMoments()
        moments.update(features)
        values = {
            "classifier_frechet": frechet_distance(
                *moments.compute(), reference["mean"], reference["covariance"]
            ),
            "classifier_score": inception_score(probabilities),
            "confident": float((probabilities.amax(1) > SURE).double().mean()),
            "classes": float(len(probabilities.argmax(1).unique())),
            "mean": float(images.double().mean()) / classifier.maximum,
        }
        if classifier.maximum == 1 and len(reference["nearest"]):
            distances = nearest_hamming(images, reference["nearest"])
            values["nearest_hamming"] = float(distances.double().mean())
        if classifier.maximum > 1 and len(reference["nearest"]):
            for distance in (grey_distance, contrast_distance):
                value = distance(images, reference["nearest"], classifier.maximum)
                values[distance.__name__] = value
        return values

    def artifacts(self) -> dict[str, Any]:
        artifacts: dict[str, Any] = {"images": torch.cat(self._images)[: self.shown]}
        if self._path is not None:
            artifacts["path"] = self._path
        return artifacts

    def _likelihood(self, sites: int) -> dict[str, float]:
        if not self._bounds:
            return {}
        bounds = torch.cat(self._bounds)
        mean = float(bounds.mean())
        error = float(bounds.std() / len(bounds) ** 0.5) if len(bounds) > 1 else math.nan
        bits = sites * math.log(2)
        return {
            "bound": mean, "bound_error": error,
            "bits_per_dim": mean / bits, "bits_per_dim_error": error / bits,
        }  # fmt: skip

    def _load(self, images: Tensor, classifier: ImageClassifier) -> dict[str, Any]:
        if not self._reference:
            if self.folder is None:
                raise UserError("images are judged by a trained classifier: give its run's folder")
            load_weights(classifier, self.folder)
            self._reference = load_artifacts(self.folder)
        nearest = self._reference["nearest"]
        if len(nearest) and nearest.shape[1:] != images.shape[1:]:
            raise UserError(
                f"images of shape {tuple(images.shape[1:])} cannot be judged by a reference of "
                f"shape {tuple(nearest.shape[1:])}: give both runs the same data"
            )
        return self._reference
