"""How far images are from the images they should be."""

import torch
from torch import Tensor


def psnr(image: Tensor, truth: Tensor) -> Tensor:
    """-10 log10(mean squared error + 1e-8) of images (B, ...) with values in [0, 1], float64 (B,).

    80 dB at most. One wrong bit of 1,024 gives 30.1 dB.
    """
    error = (image.double() - truth.double()).square().flatten(1).mean(1)
    return -10 * torch.log10(error + 1e-8)


def grey_distance(images: Tensor, reference: Tensor, maximum: int) -> float:
    """Wasserstein-1 distance of the histograms of all pixels, integers 0..M, in units of a count.

    At least the distance of the mean pixels.
    """
    return _transport(images.flatten().long(), reference.flatten().long(), maximum + 1)


def contrast_distance(images: Tensor, reference: Tensor, maximum: int) -> float:
    """Wasserstein-1 distance of the histograms of differences of neighbours, in units of a count.

    Pixels (..., H, W) and those to the right of and below them: smooth images have small
    differences, noise has large ones.
    """

    def differences(pixels: Tensor) -> Tensor:
        pixels = pixels.long()
        return torch.cat([pixels.diff(dim=-1).flatten(), pixels.diff(dim=-2).flatten()]) + maximum

    return _transport(differences(images), differences(reference), 2 * maximum + 1)


def _transport(a: Tensor, b: Tensor, size: int) -> float:
    """Sum of |F_a - F_b| over 0..size - 1."""
    laws = [torch.bincount(x, minlength=size).double() / len(x) for x in (a, b)]
    return float((laws[0] - laws[1]).cumsum(0).abs().sum())
