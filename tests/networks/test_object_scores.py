"""Shapes, parameter counts and who sees whom in the networks of the sorting baselines."""

import pytest
import torch

from jumpbench.networks.object_scores import (
    ObjectScores,
    PerObject,
    across_batch,
    across_everything,
    number_convolutions,
    piece_convolutions,
    piece_rows,
    within_lists,
)


def count(module):
    return sum(p.numel() for p in module.parameters())


def test_number_network_sizes():
    network = ObjectScores(number_convolutions())
    # conv 1->32 and 32->64 (5x5), 12544->64, 64->1
    assert count(network) == 832 + 51264 + 12544 * 64 + 64 + 65
    assert network(torch.randn(2, 3, 1, 28, 112)).shape == (2, 3)


@pytest.mark.parametrize(
    ("image", "pieces"), [(28, p) for p in (2, 3, 4, 5, 6)] + [(32, p) for p in (2, 3, 4)]
)
def test_piece_networks_take_every_size(image, pieces):
    side, n = image // pieces, pieces**2
    lists = torch.randn(2, n, 3, side, side)
    assert ObjectScores(piece_convolutions(image, pieces, 3))(lists).shape == (2, n)
    assert piece_rows(image, pieces, 3)(lists).shape == (2, n, n)


@pytest.mark.parametrize(
    ("network", "shape", "wanted"),
    [
        (number_convolutions(), (1, 28, 84), r"\(1, 28, 112\), not \(1, 28, 84\)"),
        (piece_convolutions(28, 2), (3, 16, 16), r"\(1, 14, 14\), not \(3, 16, 16\)"),
        (piece_rows(28, 3), (1, 10, 10), r"\(1, 9, 9\), not \(1, 10, 10\)"),
    ],
)
def test_objects_of_another_shape_are_named(network, shape, wanted):
    with pytest.raises(ValueError, match=f"{wanted}: give it the sizes of the data"):
        network(torch.zeros(2, 4, *shape))


def transformer(scope):
    torch.manual_seed(0)
    encoder = PerObject(torch.nn.Linear(1, 16))
    return ObjectScores(encoder, 16, layers=2, heads=4, feedforward=32, scope=scope).eval()


def test_within_lists_is_equivariant_and_keeps_lists_apart():
    network = transformer(within_lists)
    lists = torch.randn(3, 5, 1)
    order = torch.randperm(5)
    with torch.no_grad():
        scores = network(lists)
        torch.testing.assert_close(network(lists[:, order]), scores[:, order])
        torch.testing.assert_close(network(lists[1:2]), scores[1:2])


@pytest.mark.parametrize(
    ("scope", "moved"),
    [
        (within_lists, [[True, True], [False, False], [False, False]]),
        (across_everything, [[True, True], [True, True], [True, True]]),
        (across_batch, [[True, False], [True, False], [True, False]]),
    ],
)
def test_which_scores_depend_on_the_first_object(scope, moved):
    network = transformer(scope)
    lists = torch.randn(3, 2, 1)
    other = lists.clone()
    other[0, 0] += 1
    with torch.no_grad():
        change = (network(lists) - network(other)).abs() > 1e-6
    assert change.tolist() == moved
