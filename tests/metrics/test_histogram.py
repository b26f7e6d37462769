"""Histogram distances against numpy, and the floor against replicates of numpy's own draws."""

import numpy as np
import pytest
import torch

from jumpbench.metrics.histogram import (
    hellinger,
    pair_counts,
    sampling_floor,
    total_variation,
)


@pytest.fixture
def truth():
    law = np.random.default_rng(0).random((4, 4)) ** 2
    return law / law.sum()


def by_hand(samples, truth):
    counts = np.zeros_like(truth)
    for first, second in samples[:, :2]:
        counts[first, second] += 1
    q = counts / len(samples)
    return np.sqrt(1 - np.sum(np.sqrt(truth * q))), 0.5 * np.abs(truth - q).sum()


@pytest.mark.parametrize("sites", [(0, 1), (2, 0)])
def test_distances_of_batches(truth, sites):
    samples = np.random.default_rng(1).integers(0, 4, (101, 5))
    counts = sum(pair_counts(part, 4, sites) for part in torch.tensor(samples).split(40))
    law, exact = counts.double() / 101, torch.tensor(truth)
    values = [float(distance(law, exact)) for distance in (hellinger, total_variation)]
    assert values == pytest.approx(by_hand(samples[:, sites], truth), abs=1e-12)


def test_extremes():
    p, q = torch.eye(2) / 2, 1 - torch.eye(2)
    for distance in (hellinger, total_variation):
        assert distance(p, q / 2) == 1 and distance(p, p) == pytest.approx(0, abs=1e-6)


def test_the_floor_is_the_mean_score_of_exact_draws(truth):
    rng = np.random.default_rng(3)
    scores = []
    for _ in range(600):
        q = rng.multinomial(300, truth.ravel()).reshape(4, 4) / 300
        scores.append((np.sqrt(1 - np.sqrt(truth * q).sum()), np.abs(truth - q).sum() / 2))
    scores = np.array(scores)
    for k, distance in enumerate((hellinger, total_variation)):
        generator = torch.Generator().manual_seed(4)
        mean, std = sampling_floor(distance, torch.tensor(truth), 300, 600, generator)
        error = scores[:, k].std() * np.sqrt(2 / 600)
        assert float(mean) == pytest.approx(scores[:, k].mean(), abs=4 * error)
        assert float(std) == pytest.approx(scores[:, k].std(), rel=0.15)  # 4 sd of the ratio
