"""What is said of solutions of many graphs."""

import pytest
import torch

from jumpbench.evaluations.graphs import GraphEvaluation


@pytest.fixture
def judged(monkeypatch):
    """The results of first solutions of sizes (n,) on graphs of optima (n,)."""

    def results(sizes, best):
        judge = GraphEvaluation("solved elsewhere")
        monkeypatch.setattr(judge, "_best", lambda: best)
        monkeypatch.setattr(judge, "_sizes", [sizes[:, None]])
        return judge.results()

    return results


def test_the_error_of_a_drop_is_that_of_a_ratio_of_means(judged):
    best = torch.linspace(60, 120, 100, dtype=torch.float64)
    assert judged(0.9 * best, best)["ratio_error"] == pytest.approx(0, abs=1e-12)
    g = torch.Generator().manual_seed(0)
    drops, errors = [], []
    for _ in range(400):  # the spread of 400 drops has a relative error of 4 %
        optima = 60 + 60 * torch.rand(100, generator=g, dtype=torch.float64)
        lost = 9 + torch.randn(100, generator=g, dtype=torch.float64)
        values = judged(optima - lost, optima)
        drops.append(values["drop"])
        errors.append(values["ratio_error"])
    assert sum(errors) / 400 == pytest.approx(torch.tensor(drops).std().item(), rel=0.15)


def test_one_graph_has_no_spread(judged):
    values = judged(torch.tensor([9.0]), torch.tensor([10.0]))
    assert values["size_error"] == values["ratio_error"] == 0 and values["drop"] == pytest.approx(
        10
    )
