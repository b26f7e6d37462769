"""Frechet distance between Gaussians fitted to features, and the Inception score's formula.

torchmetrics' FrechetInceptionDistance and InceptionScore give the same numbers (a test compares
them) and are not used: their raw sums of squares cancel for features far from zero, the distance
is rounded to the network's float32, and the score is of a random split that no generator seeds.
"""

import torch
from torch import Tensor


class FeatureMoments:
    """Mean and covariance (n - 1) of features that arrive in batches, float64."""

    def __init__(self) -> None:
        self.count = 0
        self._sum: Tensor | float = 0.0
        self._products: Tensor | float = 0.0
        self._origin: Tensor | None = None

    def update(self, features: Tensor) -> None:
        """Take in features (B, F)."""
        features = features.double()
        if self._origin is None:
            # Sums of squares around a typical value: no cancellation for features far from zero.
            self._origin = features.mean(0)
        centred = features - self._origin
        self._sum = self._sum + centred.sum(0)
        self._products = self._products + centred.T @ centred
        self.count += len(features)

    def compute(self) -> tuple[Tensor, Tensor]:
        """Mean (F,) and covariance (F, F).

        Raises:
            ValueError: fewer than two rows.
        """
        if self.count < 2 or self._origin is None:
            raise ValueError(f"{self.count} rows have no covariance")
        shift = torch.as_tensor(self._sum / self.count)
        covariance = (self._products - self.count * torch.outer(shift, shift)) / (self.count - 1)
        return self._origin + shift, covariance


def frechet_distance(mean1: Tensor, cov1: Tensor, mean2: Tensor, cov2: Tensor) -> float:
    """||mu1 - mu2||^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)).

    The trace of the root is the sum of the square roots of the eigenvalues of the symmetric
    S1^(1/2) S2 S1^(1/2), which S1 S2 shares.

    Raises:
        ValueError: moments of different sizes.
    """
    if mean1.shape != mean2.shape or cov1.shape != cov2.shape:
        raise ValueError(f"features of sizes {len(mean1)} and {len(mean2)} cannot be compared")
    mean1, cov1, mean2, cov2 = (v.double() for v in (mean1, cov1, mean2, cov2))
    values, vectors = torch.linalg.eigh(cov1)
    root = (vectors * values.clamp(min=0).sqrt()) @ vectors.T
    middle = torch.linalg.eigvalsh(root @ cov2 @ root).clamp(min=0).sqrt().sum()
    return float((mean1 - mean2).square().sum() + cov1.trace() + cov2.trace() - 2 * middle)


def inception_score(probabilities: Tensor) -> float:
    """exp of the mean KL(p(y | x) || p(y)) of class probabilities (N, C), over all N at once."""
    p = probabilities.double()
    marginal = p.mean(0)
    divergence = (torch.special.xlogy(p, p) - torch.special.xlogy(p, marginal)).sum(1)
    return float(divergence.mean().exp())


def nearest_hamming(samples: Tensor, reference: Tensor, chunk: int = 4096) -> Tensor:
    """Number of differing pixels (B,) to the nearest of ``reference`` (N, ...); binary counts.

    |a - b| = |a| + |b| - 2 a.b, in float32, which is exact below 2^24 pixels.
    """
    a = samples.flatten(1).float()
    best = torch.full((len(a),), float("inf"), device=a.device)
    for part in reference.split(chunk):
        b = part.flatten(1).float()
        distance = a.sum(1, keepdim=True) + b.sum(1) - 2 * a @ b.T
        best = torch.minimum(best, distance.min(1).values)
    return best
