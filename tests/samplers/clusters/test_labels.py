import pytest
import torch

from jumpbench.samplers.clusters.labels import (
    cluster_labels,
    labels_by_propagation,
    labels_by_search,
)


def by_union_find(right, down):
    """Smallest site of each cluster of one torus, bond by bond."""
    size = right.shape[0]
    parent = list(range(size * size))

    def find(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for i in range(size):
        for j in range(size):
            here = size * i + j
            neighbors = ((right, size * i + (j + 1) % size), (down, (here + size) % size**2))
            for bonds, there in neighbors:
                if bonds[i, j]:
                    a, b = sorted((find(here), find(there)))
                    parent[b] = a
    return torch.tensor([find(k) for k in range(size * size)]).view(size, size)


def bonds(batch, size, probability, seed=0):
    u = torch.rand(2, batch, size, size, generator=torch.Generator().manual_seed(seed))
    return tuple(u < probability)


@pytest.mark.parametrize("size", [3, 8, 17])
@pytest.mark.parametrize("probability", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_both_ways_find_the_clusters(size, probability):
    right, down = bonds(6, size, probability)
    expected = torch.stack([by_union_find(*pair) for pair in zip(right, down, strict=True)])
    expected += size**2 * torch.arange(6).view(6, 1, 1)
    assert torch.equal(labels_by_propagation(right, down), expected)
    labels, count = labels_by_search(right, down)
    assert count == len(expected.unique())
    # The same partition: labels and smallest sites determine each other.
    pairs = torch.stack((labels.flatten().long(), expected.flatten()), 1).unique(dim=0)
    assert len(pairs) == count == len(labels.unique())
    assert int(labels.max()) < count


def test_a_spiral_is_one_cluster():
    """The worst case for labels passed from neighbour to neighbour: one path through all sites."""
    size = 32
    right = torch.ones(1, size, size, dtype=torch.bool)
    right[:, :, -1] = False
    down = torch.zeros_like(right)
    down[0, 0::2, -1] = True
    down[0, 1::2, 0] = True
    down[0, -1] = False
    assert (labels_by_propagation(right, down) == 0).all()
    assert labels_by_search(right, down)[1] == 1


def test_the_interface_picks_the_search_on_a_cpu():
    right, down = bonds(2, 5, 0.4)
    labels, bound = cluster_labels(right, down)
    expected, count = labels_by_search(right, down)
    assert torch.equal(labels, expected) and bound == count
