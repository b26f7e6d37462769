"""Connected components of open bonds on many tori at once."""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

_ROUNDS_PER_CHECK = 4


def cluster_labels(right: Tensor, down: Tensor) -> tuple[Tensor, int]:
    """Labels of the clusters of open bonds, and a number that they all lie below.

    Args:
        right: (B, L, L) bool, is the bond from a site to its right neighbour on the torus open.
        down: likewise, to its lower neighbour.

    Returns:
        Labels (B, L, L), equal exactly at sites of the same cluster (never across chains),
        and their upper bound: the number of clusters on a CPU, ``B L^2`` elsewhere.
    """
    if right.device.type == "cpu":
        return labels_by_search(right, down)
    return labels_by_propagation(right, down), right.numel()


@lru_cache(maxsize=8)
def _neighbors(batch: int, size: int) -> np.ndarray:
    """Flat index of the right and the lower neighbour of every site, ``(2 B L^2)`` int32."""
    site = np.arange(batch * size * size, dtype=np.int32).reshape(batch, size, size)
    return np.stack((np.roll(site, -1, 2), np.roll(site, -1, 1)), -1).ravel()


def labels_by_search(right: Tensor, down: Tensor) -> tuple[Tensor, int]:
    """SciPy's graph search over all chains as one graph: the fastest way on a CPU.

    The open bonds, in the order of their sites, already are the rows of a sparse matrix.
    """
    # Here, so that importing the samplers takes torch alone.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    batch, size, _ = right.shape
    n_sites = right.numel()
    starts = torch.zeros(n_sites + 1, dtype=torch.int32)
    degrees = (right.view(torch.uint8) + down.view(torch.uint8)).view(-1)
    torch.cumsum(degrees, 0, dtype=torch.int32, out=starts[1:])
    # Four times as fast as indexing with the mask itself.
    opened = np.flatnonzero(torch.stack((right, down), -1).numpy())
    ends = _neighbors(batch, size).take(opened)
    graph = csr_matrix((np.ones(len(ends)), ends, starts.numpy()), shape=(n_sites, n_sites))
    count, labels = connected_components(graph, directed=False)
    return torch.from_numpy(labels).view(batch, size, size), int(count)


def labels_by_propagation(right: Tensor, down: Tensor) -> Tensor:
    """Smallest flat index in each cluster, (B, L, L) long, by tensor operations only.

    Each site keeps a pointer to a site of its cluster, at first itself. In a round it looks at
    its neighbours' pointers, passes the smallest one on to the site it points to (hooking), and
    follows its own pointer three times (shortcutting). A logarithmic number of rounds suffices:
    9 for critical clusters and for the full lattice at L = 24. Whether pointers still move is
    asked once in four rounds, so the device waits for the host that often.
    """
    batch, size, _ = right.shape
    count = right.numel()
    left, up = right.roll(1, 2), down.roll(1, 1)
    pointer = torch.arange(count, device=right.device).view(batch, size, size)
    while True:
        before = pointer
        for _ in range(_ROUNDS_PER_CHECK):
            lowest = pointer
            for opened, shift, axis in ((right, -1, 2), (left, 1, 2), (down, -1, 1), (up, 1, 1)):
                seen = torch.where(opened, pointer.roll(shift, axis), count)
                lowest = torch.minimum(lowest, seen)
            target = pointer.view(-1).scatter_reduce(0, pointer.view(-1), lowest.view(-1), "amin")
            target = target[target]
            pointer = target[target][lowest]
        if torch.equal(pointer, before):
            return pointer
