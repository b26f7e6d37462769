"""MSID: closed forms of small graphs, invariance, and what must differ."""

import math

import pytest
import torch

from jumpbench.metrics.intrinsic_distance import heat_trace, msid, neighbour_graph

TIMES = torch.logspace(-1, 1, 256, dtype=torch.float64)


def test_pairs_far_apart_have_two_eigenvalues():
    """One neighbour each: every pair is an edge, whose normalised Laplacian has 0 and 2."""
    points = torch.tensor([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    expected = torch.zeros(6, 6, dtype=torch.float64)
    for i in (0, 2, 4):
        expected[i, i + 1] = expected[i + 1, i] = 1
    assert torch.equal(neighbour_graph(points, 1), expected)
    torch.testing.assert_close(heat_trace(points, TIMES, 1), (1 + (-2 * TIMES).exp()) / 2)


def test_a_circle_has_cosines():
    """Two neighbours on a regular polygon: a cycle, with eigenvalues 1 - cos(2 pi k / n)."""
    angle = 2 * math.pi * torch.arange(12, dtype=torch.float64) / 12
    points = torch.stack([angle.cos(), angle.sin()], 1)
    eigenvalues = 1 - angle.cos()
    expected = (-TIMES[:, None] * eigenvalues).exp().mean(1)
    torch.testing.assert_close(heat_trace(points, TIMES, 2), expected)
    pairs = torch.tensor([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    weight = (-2 * (TIMES + 1 / TIMES)).exp()
    gap = (expected - heat_trace(pairs, TIMES, 2)).abs()
    assert msid(points, pairs, 2) == pytest.approx(1e6 * float((weight * gap).max()))


def test_invariance_and_difference():
    generator = torch.Generator().manual_seed(0)
    cloud = torch.randn(200, 8, generator=generator, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(8, 8, generator=generator, dtype=torch.float64))[0]
    assert msid(cloud, cloud) == 0
    assert msid(cloud, 3 + cloud @ turn) == pytest.approx(0, abs=1e-6)
    line = torch.randn(200, 1, generator=generator, dtype=torch.float64)
    again = torch.randn(200, 8, generator=generator, dtype=torch.float64)
    assert msid(cloud, line) > 3 * msid(cloud, again) > 0


def test_too_few_points():
    with pytest.raises(ValueError, match="6 points"):
        msid(torch.randn(6, 2), torch.randn(6, 2))
