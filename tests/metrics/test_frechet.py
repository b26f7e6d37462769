"""Frechet distance against scipy's matrix root, Inception score and neighbours by hand."""

import math

import numpy as np
import pytest
import torch
from scipy import linalg
from torchmetrics.image.fid import FrechetInceptionDistance
from torchmetrics.image.inception import InceptionScore

from jumpbench.metrics.frechet import (
    FeatureMoments,
    frechet_distance,
    inception_score,
    nearest_hamming,
)


def gaussian(size, seed, rank=None):
    generator = torch.Generator().manual_seed(seed)
    factor = torch.randn(size, rank or size, dtype=torch.float64, generator=generator)
    return torch.randn(size, dtype=torch.float64, generator=generator), factor @ factor.T / size


@pytest.mark.parametrize(("size", "rank"), [(2, None), (64, None), (64, 20)])
def test_against_scipy(size, rank):
    (m1, s1), (m2, s2) = gaussian(size, 1, rank), gaussian(size, 2)
    root = linalg.sqrtm((s1 @ s2).numpy()).real
    expected = float((m1 - m2).square().sum() + s1.trace() + s2.trace()) - 2 * np.trace(root)
    assert math.isclose(frechet_distance(m1, s1, m2, s2), expected, rel_tol=1e-6)
    assert math.isclose(frechet_distance(m2, s2, m1, s1), expected, rel_tol=1e-6)


def test_equal_gaussians_are_at_distance_zero():
    mean, covariance = gaussian(64, 3)
    assert abs(frechet_distance(mean, covariance, mean, covariance)) < 1e-9


def test_moments_in_batches_are_numpys():
    generator = torch.Generator().manual_seed(0)
    features = 1e4 + torch.randn(500, 7, dtype=torch.float64, generator=generator)
    moments = FeatureMoments()
    for part in features.split(90):
        moments.update(part)
    mean, covariance = moments.compute()
    assert moments.count == 500
    assert torch.allclose(mean, features.mean(0), rtol=1e-14)
    assert torch.allclose(covariance, torch.cov(features.T), rtol=1e-10)


def test_inception_score():
    """One class each, evenly: the number of classes. The same law for all: 1."""
    assert math.isclose(inception_score(torch.eye(10)), 10.0)
    assert math.isclose(inception_score(torch.full((5, 4), 0.25)), 1.0)


def test_nearest_hamming():
    generator = torch.Generator().manual_seed(0)
    samples = torch.randint(0, 2, (5, 1, 4, 4), generator=generator)
    reference = torch.randint(0, 2, (30, 1, 4, 4), generator=generator, dtype=torch.uint8)
    slow = [min(int((a != b).sum()) for b in reference) for a in samples]
    assert nearest_hamming(samples, reference, chunk=7).tolist() == slow


def test_moments_of_different_features_are_refused():
    with pytest.raises(ValueError, match="cannot be compared"):
        frechet_distance(*gaussian(3, 0), *gaussian(4, 0))
    with pytest.raises(ValueError, match="no covariance"):
        FeatureMoments().compute()


class Rows(torch.nn.Module):
    """Images that are their own features."""

    num_features = 6

    def forward(self, images):
        return images


@pytest.mark.parametrize(("offset", "tolerance"), [(0.0, 1e-9), (1e6, 1e-6)])
def test_against_torchmetrics(offset, tolerance):
    """One number for features near zero. Far from it torchmetrics' raw sums of squares cancel,
    ours do not: a shift of both sets changes no distance."""
    generator = torch.Generator().manual_seed(0)
    sets = torch.randn(2, 400, 6, dtype=torch.float64, generator=generator)
    sets[1] = 0.5 * sets[1] + 1
    theirs = FrechetInceptionDistance(Rows(), input_img_size=(6,)).double()
    moments = []
    for real, rows in zip((True, False), sets, strict=True):
        ours = FeatureMoments()
        for part in (rows + offset).split(90):
            ours.update(part)
            theirs.update(part, real=real)
        moments += ours.compute()
    exact = frechet_distance(
        sets[0].mean(0), torch.cov(sets[0].T), sets[1].mean(0), torch.cov(sets[1].T)
    )
    assert math.isclose(frechet_distance(*moments), exact, rel_tol=tolerance)
    assert math.isclose(float(theirs.compute()), exact, rel_tol=1e-9) == (offset == 0)


def test_inception_score_against_torchmetrics():
    logits = torch.randn(300, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    theirs = InceptionScore(Rows(), splits=1)
    theirs.update(logits)
    value = float(theirs.compute()[0])
    assert math.isclose(inception_score(logits.softmax(1)), value, rel_tol=1e-9)
