"""Reconstructions of binary images against the images that were measured."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.extras import ExtraMeans
from jumpbench.samplers.draws import Draws


def psnr(image: Tensor, truth: Tensor) -> Tensor:
    """-10 log10(mean squared error + 1e-8) of images (B, D) with values in [0, 1], float64 (B,).

    80 dB at most. A wrong bit of 1,024 gives 30.1 dB.
    """
    error = (image.double() - truth.double()).square().mean(-1)
    return -10 * torch.log10(error + 1e-8)


class BinaryImageEvaluation(Evaluation):
    """Bits (B, D) against the batch's ``states``.

    Results: ``psnr`` and its standard deviation over images ``psnr_std``; ``accuracy``, the
    percentage of images that the classifier takes for what it takes the truth for (and
    ``accuracy_std``, that of a yes or no); ``wrong_bits``, percent; means of the extras.
    Artifacts: ``truth``.

    Args:
        classifier: bits (B, D) -> logits; None: no accuracy.
        weights: folder of the run that trained it, whose artifact ``network`` is loaded.

    Raises:
        UserError: weights that are missing or do not fit.
    """

    def __init__(
        self, classifier: nn.Module | None = None, weights: str | Path | None = None
    ) -> None:
        self.classifier, self.weights = classifier, weights
        self.extras = ExtraMeans()
        self.reset()

    def keep(self, batch: Any) -> dict[str, Tensor]:
        return {"states": batch["states"].to(torch.uint8)}

    def reset(self) -> None:
        self.truth: list[Tensor] = []
        self.samples: list[Tensor] = []
        self.extras.reset()

    def update(self, draws: Draws, kept: dict[str, Tensor]) -> None:
        self.truth.append(kept["states"].long())
        self.samples.append(draws.samples)
        self.extras.update(draws, kept)

    def results(self) -> dict[str, float]:
        samples, truth = torch.cat(self.samples), torch.cat(self.truth)
        each = psnr(samples, truth)
        values = self.extras.results() | {
            "psnr": float(each.mean()),
            "psnr_std": float(each.std()) if len(each) > 1 else 0.0,
            "wrong_bits": 100 * float((samples != truth).double().mean()),
        }
        if self.classifier is not None:
            classifier = load_weights(self.classifier, self.weights).eval()
            with torch.no_grad():
                same = classifier(samples).argmax(-1) == classifier(truth).argmax(-1)
            share = float(same.double().mean())
            values |= {"accuracy": 100 * share, "accuracy_std": 100 * (share * (1 - share)) ** 0.5}
        return values

    def artifacts(self) -> dict[str, Any]:
        return {"truth": torch.cat(self.truth).to(torch.uint8)}
