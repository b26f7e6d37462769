"""Sorting networks sort; soft comparators mix as the formulas say; straight-through is exact."""

import itertools

import pytest
import torch

from jumpbench.networks.sorting_networks import (
    SoftSortingNetwork,
    bitonic,
    cauchy_sigmoid,
    logistic_sigmoid,
    odd_even,
    optimal_sigmoid,
)

SIGMOIDS = [optimal_sigmoid, cauchy_sigmoid, logistic_sigmoid]
NETWORKS = [odd_even, bitonic]


def scores(batch, n, seed=0):
    return torch.randn(batch, n, generator=torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize("comparators", NETWORKS)
@pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 9, 11, 12])
def test_comparators_sort_every_zero_one_input(comparators, n):
    # the 0-1 principle: a network that sorts all of them sorts everything
    inputs = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    ordered, _ = SoftSortingNetwork(n, 1.0, comparators, error_free=True)(inputs)
    assert torch.equal(ordered, inputs.sort(dim=1).values)


@pytest.mark.parametrize("comparators", NETWORKS)
@pytest.mark.parametrize("n", [52, 100])
def test_comparators_sort_large_lists(comparators, n):
    inputs = scores(20, n)
    ordered, rows = SoftSortingNetwork(n, 1.0, comparators, error_free=True)(inputs)
    assert torch.equal(ordered, inputs.sort(dim=1).values)
    assert torch.equal(rows.argmax(-1), inputs.argsort(dim=1))


def test_depths():
    assert len(odd_even(9)) == 9
    assert [len(bitonic(n)) for n in (2, 4, 8, 52, 200)] == [1, 3, 6, 21, 36]
    for layer in bitonic(13) + odd_even(13):
        wires = list(itertools.chain(*layer))
        assert len(wires) == len(set(wires))


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_sigmoids_are_monotone_and_symmetric(sigmoid):
    x = torch.linspace(-30, 30, 4001, dtype=torch.float64)
    y = sigmoid(x)
    assert (y.diff() > 0).all()
    torch.testing.assert_close(y + y.flip(0), torch.ones_like(y), rtol=0, atol=1e-14)
    assert 0 < y[0] < y[-1] < 1


@pytest.mark.parametrize("sigmoid", [optimal_sigmoid, cauchy_sigmoid])
def test_soft_minimum_is_monotone(sigmoid):
    # d/da of alpha a + (1 - alpha) b stays in [0, 1]; the logistic one does not
    a = torch.linspace(-20, 20, 2001, dtype=torch.float64, requires_grad=True)

    def slope(f):
        keep = f(-a)
        return torch.autograd.grad((keep * a).sum(), a)[0]

    assert slope(sigmoid).min() >= -1e-12
    assert slope(logistic_sigmoid).min() < -0.01


def test_optimal_sigmoid_pieces_and_gradient():
    x = torch.tensor([-1.0, -0.25, 0.0, 0.25, 1.0, 4.0], dtype=torch.float64, requires_grad=True)
    expected = torch.tensor([1 / 16, 0.25, 0.5, 0.75, 15 / 16, 63 / 64], dtype=torch.float64)
    y = optimal_sigmoid(x)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-15)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(
        gradient, torch.tensor([1 / 16, 1, 1, 1, 1 / 16, 1 / 256], dtype=torch.float64)
    )


@pytest.mark.parametrize("comparators", NETWORKS)
@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_mixing_matrix_is_doubly_stochastic_and_consistent(comparators, sigmoid):
    inputs = scores(6, 7)
    ordered, rows = SoftSortingNetwork(7, 3.0, comparators, sigmoid)(inputs)
    ones = torch.ones(6, 7, dtype=torch.float64)
    torch.testing.assert_close(rows.sum(-1), ones, rtol=0, atol=1e-12)
    torch.testing.assert_close(rows.sum(-2), ones, rtol=0, atol=1e-12)
    assert rows.min() >= 0
    torch.testing.assert_close((rows @ inputs[..., None])[..., 0], ordered, rtol=0, atol=1e-12)


def test_against_plain_loops():
    inputs, n, steepness = scores(3, 5), 5, 2.0
    ordered, rows = SoftSortingNetwork(n, steepness, bitonic, cauchy_sigmoid)(inputs)
    for k in range(3):
        x, mixing = inputs[k].clone(), torch.eye(n, dtype=torch.float64)
        for low, high in itertools.chain(*bitonic(n)):
            keep = 0.5 + torch.atan(steepness * (x[high] - x[low])) / torch.pi
            step = torch.eye(n, dtype=torch.float64)
            step[low, low] = step[high, high] = keep
            step[low, high] = step[high, low] = 1 - keep
            x, mixing = step @ x, step @ mixing
        torch.testing.assert_close(ordered[k], x, rtol=0, atol=1e-13)
        torch.testing.assert_close(rows[k], mixing, rtol=0, atol=1e-13)


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_infinite_steepness_is_a_sort(sigmoid):
    inputs = scores(10, 9)
    ordered, rows = SoftSortingNetwork(9, 1e12, bitonic, sigmoid)(inputs)
    torch.testing.assert_close(ordered, inputs.sort(dim=1).values, rtol=0, atol=1e-8)
    assert torch.equal(rows.argmax(-1), inputs.argsort(dim=1))


def test_error_free_is_exact_forwards_and_soft_backwards():
    inputs = scores(4, 6).requires_grad_()
    hard, rows = SoftSortingNetwork(6, 2.0, error_free=True)(inputs)
    assert torch.equal(hard, inputs.sort(dim=1).values)
    assert set(rows.unique().tolist()) == {0.0, 1.0}
    target = torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad((rows * target).sum(), inputs)
    assert (gradient != 0).any(dim=1).all()
    # one comparator: the gradient is exactly the soft one's
    pair = torch.tensor([[0.3, 0.1]], dtype=torch.float64, requires_grad=True)
    for output in (0, 1):
        grads = [
            torch.autograd.grad(
                SoftSortingNetwork(2, 2.0, error_free=flag)(pair)[output].flatten()[0], pair
            )[0]
            for flag in (False, True)
        ]
        torch.testing.assert_close(*grads, rtol=0, atol=1e-15)


def test_bad_arguments():
    with pytest.raises(ValueError, match="n >= 2 and steepness > 0"):
        SoftSortingNetwork(1, 1.0)
    with pytest.raises(ValueError, match="steepness 0"):
        SoftSortingNetwork(3, 0.0)
