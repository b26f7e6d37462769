from itertools import product
from math import factorial, prod

import pytest
import torch
from scipy.stats import kendalltau

from jumpbench.metrics.permutation import (
    inversions,
    kendall_tau,
    kendall_tau_rank,
    look_alike_ceilings,
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


def test_pairs_need_two_objects():
    with pytest.raises(ValueError, match="two objects"):
        kendall_tau(torch.tensor([0]), torch.tensor([0]))


def test_ceilings():
    accuracy, correct = look_alike_ceilings(
        torch.tensor([[0, 1, 2, 3], [7, 7, 7, 1], [2, 2, 5, 5], [1, 1, 1, 1]])
    )
    assert accuracy.tolist() == pytest.approx([1, 1 / 6, 1 / 4, 1 / 24])
    assert correct.tolist() == pytest.approx([1, 2 / 4, 2 / 4, 1 / 4])


def sorting_ceiling(n, digit_law, digits=4):
    """Best expected (accuracy, correct share) when n numbers with ties are to be sorted.

    Numbers have independent digits with law ``digit_law``; equal numbers have an arbitrary order
    which nobody can know. A group of m equal numbers costs a factor 1/m! of the accuracy, and
    keeps one position right in expectation:
    ``accuracy = n! [z^n] prod_v f(p_v z)`` with ``f(x) = sum_m x^m / (m!)^2``, and
    ``correct = sum_v (1 - (1 - p_v)^n) / n``. The product needs only the power sums
    ``sum_v p_v^k = (sum_d p_d^k)^digits``.
    """
    # log f = sum_k c_k x^k, from f' = f (log f)'.
    f = [1 / factorial(m) ** 2 for m in range(n + 1)]
    c = [0.0] * (n + 1)
    for m in range(1, n + 1):
        c[m] = f[m] - sum(k * c[k] * f[m - k] for k in range(1, m)) / m
    # b_m = m! [z^m] exp(sum_k C_k z^k), with C_k = c_k sum_v p_v^k; n^k keeps factorials in range.
    scaled = [
        c[k] * sum((n ** (1 / digits) * p) ** k for p in digit_law) ** digits for k in range(n + 1)
    ]
    b = [1.0] + [0.0] * n
    for m in range(1, n + 1):
        falling, value = 1.0, 0.0
        for k in range(1, m + 1):
            falling *= 1 if k == 1 else (m - k + 1) / n
            value += k * scaled[k] * falling / n * b[m - k]
        b[m] = value
    values = (prod(each) for each in product(digit_law, repeat=digits))
    distinct = sum(1 - (1 - p) ** n for p in values)
    return b[n], distinct / n


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


def test_ceilings_of_drawn_numbers_average_to_the_closed_form():
    n, lists = 5, 20_000
    numbers = torch.randint(10, (lists, n), generator=make_generator(0, "numbers"))
    accuracy, correct = (c.mean().item() for c in look_alike_ceilings(numbers))
    # standard deviations of single lists are below 0.4 and 0.16
    expected = sorting_ceiling(n, [0.1] * 10, digits=1)
    assert accuracy == pytest.approx(expected[0], abs=0.012)
    assert correct == pytest.approx(expected[1], abs=0.005)


def test_random_order_of_look_alikes_scores_the_ceiling():
    accuracy, correct = (
        c.item() for c in look_alike_ceilings(torch.tensor([[3, 3, 3, *range(4, 10)]]))
    )
    assert (accuracy, correct) == (pytest.approx(1 / 6), pytest.approx(7 / 9))
    empty = random_permutations(60_000, n=3, generator=make_generator(0, "empty"))
    right = empty == torch.arange(3)
    # Standard errors 1.5e-3 and 1.4e-3.
    assert float(right.all(-1).double().mean()) == pytest.approx(accuracy, abs=7e-3)
    assert float((right.sum(-1) + 6).double().mean()) == pytest.approx(9 * correct, abs=2e-2)
