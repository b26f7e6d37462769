"""The grid evaluation against distances written out."""

import pytest
import torch

from jumpbench.evaluations.grid import GridEvaluation
from jumpbench.samplers.draws import Draws

TRUTH = torch.tensor([[0.5, 0.1], [0.1, 0.3]], dtype=torch.float64)
PRIOR = torch.full((2, 2), 0.25, dtype=torch.float64)


class Target:
    def marginal(self):
        return TRUTH

    def prior_marginal(self):
        return PRIOR


def test_distances_of_the_histogram_of_the_first_two_sites():
    """Counts 2, 1, 0, 1 over two batches; further sites are not looked at."""
    evaluation = GridEvaluation(Target(), floor_replicates=4)
    for _ in range(2):  # what came before a reset is forgotten
        evaluation.reset()
        first = Draws(torch.tensor([[0, 0, 1], [0, 1, 0]]), extras={"a": torch.tensor([1.0, 2.0])})
        second = Draws(torch.tensor([[1, 1, 1], [0, 0, 0]]), extras={"a": torch.tensor([3.0, 4.0])})
        evaluation.update(first, {})
        evaluation.update(second, {})
    results = evaluation.results()
    law = [0.5, 0.25, 0.0, 0.25]
    overlap = sum((p * q) ** 0.5 for p, q in zip(law, [0.5, 0.1, 0.1, 0.3], strict=True))
    assert results["hellinger"] == pytest.approx((1 - overlap) ** 0.5, abs=1e-12)
    assert results["tv"] == pytest.approx((0 + 0.15 + 0.1 + 0.05) / 2)
    from_prior = sum((p * 0.25) ** 0.5 for p in law)
    assert results["prior_hellinger"] == pytest.approx((1 - from_prior) ** 0.5, abs=1e-12)
    assert results["a"] == 2.5
    assert 0 < results["hellinger_floor"] < 1 and results["tv_floor_std"] > 0
    artifacts = evaluation.artifacts()
    assert artifacts["sampled"].flatten().tolist() == law
    torch.testing.assert_close(artifacts["truth"], TRUTH)
