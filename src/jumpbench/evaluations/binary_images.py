"""Reconstructions of binary images against the images that were measured."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.metrics.images import psnr
from jumpbench.samplers.draws import Draws


class BinaryImageEvaluation(ExtrasEvaluation):
    """Bits (B, D) against the batch's ``states``.

    Results: ``psnr`` and its standard deviation over images ``psnr_std``; ``accuracy``, the
    percentage of images that the classifier takes for what it takes the truth for (and
    ``accuracy_std``, that of a yes or no); ``classes``, how many classes it sees in all samples;
    ``wrong_bits``, percent; means of the extras; where the draws have a ``path``, the PSNR
    ``psnr@k`` and ``psnr_std@k`` of x after iteration k. Artifacts: ``truth``, ``labels`` that
    the classifier gives the samples, ``path`` of the first ``shown``.

    Args:
        classifier: bits (B, D) -> logits; None: no accuracy.
        weights: folder of the run that trained it, whose artifact ``network`` is loaded.
        shown: paths that are kept for figures.

    Raises:
        UserError: weights that are missing or do not fit.
    """

    def __init__(
        self, classifier: nn.Module | None = None, weights: str | Path | None = None, shown: int = 8
    ) -> None:
        self.classifier, self.weights, self.shown = classifier, weights, shown
        super().__init__()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"states": batch["states"].to(torch.uint8)}

    def reset(self) -> None:
        super().reset()
        self.truth: list[Tensor] = []
        self.samples: list[Tensor] = []
        self.paths: list[Tensor] = []
        self.labels: Tensor | None = None

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self.truth.append(reference["states"].long())
        self.samples.append(draws.samples)
        super().update(draws, reference)
        if "path" in draws.extras:
            self.paths.append(draws.extras["path"])

    def results(self) -> dict[str, float]:
        samples, truth = torch.cat(self.samples), torch.cat(self.truth)
        each = psnr(samples, truth)
        values = super().results() | {
            "psnr": float(each.mean()),
            "psnr_std": float(each.std()) if len(each) > 1 else 0.0,
            "wrong_bits": 100 * float((samples != truth).double().mean()),
        }
        if self.classifier is not None:
            classifier = load_weights(self.classifier, self.weights).eval()
            with torch.no_grad():
                self.labels = classifier(samples).argmax(-1)
                same = self.labels == classifier(truth).argmax(-1)
            share = float(same.double().mean())
            values |= {"accuracy": 100 * share, "accuracy_std": 100 * (share * (1 - share)) ** 0.5}
            values["classes"] = float(len(self.labels.unique()))
        if self.paths:
            steps = torch.cat(self.paths)[:, :, 0].unbind(1)
            for k, x in enumerate(steps, 1):
                each = psnr(x, truth)
                values[f"psnr@{k}"] = float(each.mean())
                values[f"psnr_std@{k}"] = float(each.std()) if len(each) > 1 else 0.0
        return values

    def artifacts(self) -> dict[str, Any]:
        artifacts: dict[str, Any] = {"truth": torch.cat(self.truth).to(torch.uint8)}
        if self.labels is not None:
            artifacts["labels"] = self.labels
        if self.paths:
            artifacts["path"] = torch.cat(self.paths)[: self.shown]
        return artifacts
