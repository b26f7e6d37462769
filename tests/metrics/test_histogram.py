"""Histogram distances against numpy, and the floor against replicates of numpy's own draws."""

import numpy as np
import pytest
import torch

from jumpbench.metrics.histogram import hellinger, sampling_floor, total_variation
from jumpbench.metrics.histogram_metrics import HistogramHellinger, HistogramTotalVariation


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


def test_distances_of_batches(truth):
    samples = np.random.default_rng(1).integers(0, 4, (101, 5))
    metrics = HistogramHellinger(torch.tensor(truth)), HistogramTotalVariation(torch.tensor(truth))
    for part in torch.tensor(samples).split(40):
        for metric in metrics:
            metric.update(part)
    values = [float(metric.compute()) for metric in metrics]
    assert values == pytest.approx(by_hand(samples, truth), abs=1e-12)
    assert metrics[0].frequencies().sum() == pytest.approx(1)


def test_other_sites_and_reset(truth):
    metric = HistogramHellinger(torch.tensor(truth), sites=(2, 0))
    samples = np.random.default_rng(2).integers(0, 4, (50, 3))
    metric.update(torch.tensor(samples))
    metric.reset()
    metric.update(torch.tensor(samples))
    assert float(metric.compute()) == pytest.approx(by_hand(samples[:, [2, 0]], truth)[0])


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


def test_a_law_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="truth"):
        HistogramHellinger(torch.ones(3, 4))
