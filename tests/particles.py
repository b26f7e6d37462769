"""Two particles, resampled by their weights: their joint law, by enumeration."""

import itertools

import torch


def two_particles(law, move, weight):
    """Joint law (S, S) after one step of both particles and multinomial resampling.

    ``law`` (S, S) of the pair, ``move`` (S, S) of one particle, and its ``weight`` (S, S), both
    from the parent (row) to the child (column).
    """
    size, new = len(law), torch.zeros_like(law)
    for a, b in itertools.product(range(size), range(size)):
        if law[a, b] == 0:
            continue
        weight_a, weight_b = weight[a][:, None], weight[b][None, :]
        pick_a = weight_a / (weight_a + weight_b)  # child of a, child of b
        drawn = law[a, b] * move[a][:, None] * move[b][None, :]
        new += torch.diag((drawn * pick_a**2).sum(1) + (drawn * (1 - pick_a) ** 2).sum(0))
        mixed = drawn * pick_a * (1 - pick_a)
        new += mixed + mixed.T
    return new
