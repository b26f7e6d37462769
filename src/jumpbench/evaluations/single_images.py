"""Reconstructions of binary images whose numbers are kept image by image."""

from typing import Any

import torch

from jumpbench.evaluations.binary_images import BinaryImageEvaluation
from jumpbench.metrics.images import psnr


class SingleImageEvaluation(BinaryImageEvaluation):
    """As its base, for claims that compare rows on the same images.

    The artifact ``by_sample`` has one number an image, in the order of the data: ``psnr``, where
    the draws have a ``path`` ``psnr@k`` of x after iteration k, and the extras. The run writes it
    into ``metrics.json``. With a classifier there is one more result, ``other_classes``: percent of
    all samples that are not of the commonest class.
    """

    def results(self) -> dict[str, float]:
        values = super().results()
        if self.labels is not None:
            commonest = int(self.labels.unique(return_counts=True)[1].max())
            values["other_classes"] = 100 * (1 - commonest / len(self.labels))
        return values

    def artifacts(self) -> dict[str, Any]:
        samples, truth = torch.cat(self.samples), torch.cat(self.truth)
        each = {name: torch.cat(parts) for name, parts in self._values.items()}
        each["psnr"] = psnr(samples, truth)
        if self.paths:
            steps = torch.cat(self.paths)[:, :, 0].unbind(1)
            each |= {f"psnr@{k}": psnr(x, truth) for k, x in enumerate(steps, 1)}
        by_sample = {name: value.tolist() for name, value in each.items()}
        return super().artifacts() | {"by_sample": by_sample}
