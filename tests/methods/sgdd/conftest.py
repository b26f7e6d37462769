"""Small spaces on which everything about SGDD can be enumerated, in float64."""

import pytest
import torch

from oracles import all_states


class SmallSpace:
    """All states of {0..N-1}^D in the order of their codes, and laws over them as vectors."""

    def __init__(self, n_states, length):
        self.n_states, self.length = n_states, length
        self.states = all_states(n_states, length)
        self.size = len(self.states)
        self.powers = n_states ** torch.arange(length - 1, -1, -1)

    def code(self, x):
        return (x.long() * self.powers).sum(-1)

    def lift(self, site_matrix):
        """The matrix over states of one kernel (N, N) that moves all sites independently."""
        rows = self.states[:, None, :].expand(-1, self.size, -1)
        columns = self.states[None].expand(self.size, -1, -1)
        return site_matrix[rows, columns].prod(-1)

    def site_law(self, probabilities):
        """Law over states (..., size) of independent draws from probabilities (..., D, N)."""
        law = torch.ones(*probabilities.shape[:-2], self.size, dtype=torch.float64)
        for site in range(self.length):
            law = law * probabilities[..., site, :].double()[..., self.states[:, site]]
        return law

    def frequencies(self, samples):
        return torch.bincount(self.code(samples), minlength=self.size).double() / len(samples)

    def assert_law(self, samples, law, z=4.5):
        """Every state's frequency within ``z`` standard errors of ``law``; impossible ones 0."""
        error = (law * (1 - law) / len(samples)).sqrt()
        gap = (self.frequencies(samples) - law).abs()
        assert bool((gap <= z * error + 1e-12).all()), (gap / error).nan_to_num().max()


@pytest.fixture
def pair():
    """Two sites of three symbols: nine states."""
    return SmallSpace(3, 2)


@pytest.fixture
def space():
    return SmallSpace


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(20250301)
