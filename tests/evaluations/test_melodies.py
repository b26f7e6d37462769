"""Histogram distance and outliers against numbers written out."""

import pytest
import torch

from jumpbench.evaluations.melodies import MelodyEvaluation
from jumpbench.samplers.draws import Draws


def test_results():
    songs = torch.tensor([[0, 0, 1, 1], [2, 2, 2, 2]])
    samples = torch.tensor([[0, 0, 0, 1], [2, 2, 3, 0]])
    evaluation = MelodyEvaluation(4)
    for rows in (slice(0, 1), slice(1, 2)):
        kept = evaluation.keep({"states": songs[rows]})
        evaluation.update(Draws(samples[rows]), kept)
    results = evaluation.results()
    first = (1 - (0.75 * 0.5) ** 0.5 - (0.25 * 0.5) ** 0.5) ** 0.5
    second = (1 - 0.5**0.5) ** 0.5
    assert results["hellinger"] == pytest.approx((first + second) / 2)
    assert results["hellinger_std"] == pytest.approx(abs(first - second) / 2**0.5)
    assert results["outliers"] == pytest.approx((0 + 0.5) / 2)
    by_sample = evaluation.artifacts()["by_sample"]
    assert by_sample["hellinger"] == pytest.approx([first, second])
    assert by_sample["outliers"] == [0, 0.5]
    evaluation.reset()
    evaluation.update(Draws(songs), {"states": songs})
    assert evaluation.results()["hellinger"] == pytest.approx(0, abs=1e-7)
