from itertools import product
from math import factorial, prod

import pytest
import torch
from scipy.stats import kendalltau

from jumpbench.metrics.permutation import (
    CorrectPositions,
    KendallTau,
    KendallTauRank,
    ListAccuracy,
    TourGap,
    closed_tour_length,
    empty_piece_ceiling,
    inversions,
    kendall_tau,
    kendall_tau_rank,
    sorting_ceiling,
)
from jumpbench.processes.permutations import inverse, random_permutations
from jumpbench.seeding import make_generator


@pytest.mark.parametrize("n", [2, 5, 60])
def test_tau_is_scipys_on_indices_and_on_ranks(n):
    g, h = random_permutations(2, 6, n=n, generator=make_generator(n, "tau")).unbind(0)
    index = [kendalltau(a, b).statistic for a, b in zip(g.numpy(), h.numpy(), strict=True)]
    assert kendall_tau(g, h).tolist() == pytest.approx(index, abs=1e-12)
    ranks = [
        kendalltau(a, b).statistic
        for a, b in zip(inverse(g).numpy(), inverse(h).numpy(), strict=True)
    ]
    assert kendall_tau_rank(g, h).tolist() == pytest.approx(ranks, abs=1e-12)


def test_inversions_in_chunks(monkeypatch):
    p = random_permutations(3, 7, n=11, generator=make_generator(0, "inversions"))
    whole = inversions(p)
    monkeypatch.setattr("jumpbench.metrics.permutation.PAIRS_PER_CHUNK", 200)
    assert torch.equal(inversions(p), whole)
    assert inversions(torch.tensor([3, 2, 1, 0])) == 6


def test_one_swap_of_neighbours_costs_more_on_indices_than_on_ranks():
    n = 50
    g = random_permutations(4000, n=n, generator=make_generator(0, "neighbours"))
    h = g.clone()
    h[:, 20], h[:, 21] = g[:, 21], g[:, 20]
    assert kendall_tau_rank(g, h).tolist() == pytest.approx([1 - 4 / (n * (n - 1))] * 4000)
    # Labels are random: 2 (2n/3) / (n (n-1) / 2) on average; standard error 6e-4 here.
    index = float(kendall_tau(g, h).mean())
    assert index == pytest.approx(1 - 2 * (2 * n / 3) / (n * (n - 1) / 2), abs=4e-3)


def test_metrics_accumulate_over_batches():
    g = torch.tensor([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    h = torch.tensor([[0, 1, 2], [2, 1, 0], [0, 2, 1]])
    expected = {
        ListAccuracy: 1 / 3,
        CorrectPositions: (3 + 1 + 1) / 9,
        KendallTau: float(kendall_tau(g, h).mean()),
        KendallTauRank: float(kendall_tau_rank(g, h).mean()),
    }
    for make, value in expected.items():
        metric = make()
        metric.update(g[:1], h[:1])
        metric.update(g[1:], h[1:])
        assert float(metric.compute()) == pytest.approx(value)


def test_what_is_no_ordering_is_refused():
    with pytest.raises(ValueError, match="predicted index array"):
        ListAccuracy().update(torch.tensor([[0, 1]]), torch.tensor([[0, 0]]))
    with pytest.raises(ValueError, match="differ in shape"):
        ListAccuracy().update(torch.tensor([[0, 1]]), torch.tensor([[0, 1, 2]]))
    with pytest.raises(ValueError, match="two objects"):
        kendall_tau(torch.tensor([0]), torch.tensor([0]))


def test_tours():
    square = torch.tensor([[0.0, 0], [0, 1], [1, 1], [1, 0]])
    tours = torch.tensor([[0, 1, 2, 3], [2, 3, 0, 1], [3, 2, 1, 0], [0, 2, 1, 3]])
    crossed = 2 + 2 * 2**0.5
    assert closed_tour_length(square, tours).tolist() == pytest.approx([4, 4, 4, crossed])
    batch = square.expand(5, 1, 4, 2)
    assert closed_tour_length(batch, tours).shape == (5, 4)
    gap = TourGap()
    gap.update(torch.tensor([4.4, 2.0]), torch.tensor([4.0, 2.0]))
    assert float(gap.compute()) == pytest.approx(0.05)


@pytest.mark.parametrize(("n", "law", "digits"), [(3, [0.7, 0.3], 1), (4, [0.6, 0.4], 2)])
def test_sorting_ceiling_by_enumeration(n, law, digits):
    values = [prod(each) for each in product(law, repeat=digits)]
    accuracy = correct = 0.0
    for numbers in product(range(len(values)), repeat=n):
        p = prod(values[v] for v in numbers)
        groups = [numbers.count(v) for v in set(numbers)]
        accuracy += p / prod(factorial(m) for m in groups)
        correct += p * len(groups) / n
    assert sorting_ceiling(n, law, digits) == pytest.approx((accuracy, correct), abs=1e-12)


def test_sorting_ceilings_of_four_digit_numbers():
    # Simulated with MNIST's unequal digit frequencies: agreement within 0.8 points.
    simulated = {3: 99.98, 9: 99.8, 32: 97.6, 52: 93.1, 100: 77.3, 200: 37.1}
    for n, percent in simulated.items():
        accuracy, correct = sorting_ceiling(n, [0.1] * 10)
        assert 100 * accuracy == pytest.approx(percent, abs=0.8)
        assert accuracy < correct
    assert 100 * sorting_ceiling(200, [0.1] * 10)[1] == pytest.approx(99.0, abs=0.05)


def test_empty_piece_ceiling_is_what_random_order_of_them_scores():
    assert empty_piece_ceiling(0, 9) == (1.0, 1.0)
    assert empty_piece_ceiling(1, 9) == (1.0, 1.0)
    assert empty_piece_ceiling(3, 9) == (pytest.approx(1 / 6), pytest.approx(7 / 9))
    empty = random_permutations(60_000, n=3, generator=make_generator(0, "empty"))
    right = empty == torch.arange(3)
    # Standard errors 1.5e-3 and 1.4e-3.
    assert float(right.all(-1).double().mean()) == pytest.approx(1 / 6, abs=7e-3)
    assert float((right.sum(-1) + 6).double().mean()) == pytest.approx(7, abs=2e-2)
    with pytest.raises(ValueError, match="empty pieces"):
        empty_piece_ceiling(10, 9)
