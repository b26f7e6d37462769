"""Distances of the histograms of images, against scipy and by hand."""

import pytest
import torch
from scipy.stats import wasserstein_distance

from jumpbench.metrics.images import contrast_distance, grey_distance


@pytest.fixture
def pair():
    g = torch.Generator().manual_seed(0)
    smooth = torch.randint(0, 256, (20, 3, 1, 1), generator=g).expand(20, 3, 6, 5)
    noise = torch.randint(0, 256, (30, 3, 6, 5), generator=g)
    return smooth.to(torch.uint8), noise.to(torch.int16)


def test_they_are_wasserstein_distances(pair):
    a, b = (x.long() for x in pair)
    exact = wasserstein_distance(a.flatten(), b.flatten())
    assert grey_distance(*pair, 255) == pytest.approx(exact, rel=1e-12)

    def differences(x):
        return torch.cat([x.diff(dim=-1).flatten(), x.diff(dim=-2).flatten()])

    exact = wasserstein_distance(differences(a), differences(b))
    assert contrast_distance(*pair, 255) == pytest.approx(exact, rel=1e-12)


def test_brightness_moves_the_one_and_noise_the_other(pair):
    smooth, noise = pair
    assert grey_distance(smooth.clamp(max=200), smooth.clamp(max=200) + 10, 255) == pytest.approx(
        10
    )
    assert contrast_distance(smooth.clamp(max=200), smooth.clamp(max=200) + 10, 255) == 0
    assert contrast_distance(smooth, noise, 255) > 50  # E|difference of two uniform greys| = 85
