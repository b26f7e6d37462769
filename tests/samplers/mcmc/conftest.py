"""Small targets whose states are enumerated, and the comparison of a kernel with its matrix."""

import itertools

import pytest
import torch

from oracles import all_states


class Enumerated:
    """A random law on {0..N-1}^D, its states, and what the kernels ask of a target."""

    def __init__(self, length=2, n_states=3, seed=0, spread=1.0, log_table=None):
        self.length, self.n_states = length, n_states
        self.states = all_states(n_states, length)
        generator = torch.Generator().manual_seed(seed)
        if log_table is None:
            log_table = spread * torch.randn(
                len(self.states), dtype=torch.float64, generator=generator
            )
        self.log_table = log_table
        self.law = log_table.softmax(0)

    def index(self, x):
        powers = self.n_states ** torch.arange(self.length - 1, -1, -1)
        return (x.long() * powers).sum(-1)

    def log_prob(self, x):
        return self.log_table[self.index(x)]

    def neighbor_log_ratios(self, x):
        changed = x[:, None, None].expand(-1, self.length, self.n_states, -1).clone()
        for site in range(self.length):
            changed[:, site, :, site] = torch.arange(self.n_states)
        return self.log_prob(changed) - self.log_prob(x)[:, None, None]

    def delta(self, x, site, token):
        return self.neighbor_log_ratios(x)[torch.arange(len(x)), site, token.long()]

    def neighbours(self, i):
        """(index, site, token) of every single-site change of state i that changes it."""
        for site in range(self.length):
            for token in range(self.n_states):
                if token != self.states[i, site]:
                    y = self.states[i].clone()
                    y[site] = token
                    yield int(self.index(y)), site, token

    def accept(self, proposal):
        """Metropolis-Hastings matrix of a proposal matrix, the diagonal taking the rest."""
        size = len(self.states)
        matrix = torch.zeros(size, size, dtype=torch.float64)
        for i, j in itertools.permutations(range(size), 2):
            if proposal[i, j] > 0:
                ratio = self.law[j] * proposal[j, i] / (self.law[i] * proposal[i, j])
                matrix[i, j] = proposal[i, j] * min(1.0, ratio.item())
        return matrix + torch.diag(1 - matrix.sum(-1))

    def assert_reversible(self, matrix):
        flow = self.law[:, None] * matrix
        torch.testing.assert_close(flow, flow.mT, rtol=0, atol=1e-12)

    def assert_follows(self, kernel, matrix, n_steps, chains=20_000, z=5.0):
        """Chains from every state against the matrix power, each cell within z standard errors.

        ``kernel(x, n_steps) -> (x, info)``. Several steps also test what a kernel carries along.
        """
        torch.testing.assert_close(self.law @ matrix, self.law, rtol=0, atol=1e-12)
        size = len(self.states)
        start = self.states.repeat_interleave(chains, 0)
        end, _ = kernel(start, n_steps)
        cells = torch.arange(size).repeat_interleave(chains) * size + self.index(end)
        counts = torch.bincount(cells, minlength=size**2).reshape(size, size) / chains
        expected = torch.linalg.matrix_power(matrix, n_steps)
        error = (expected * (1 - expected).clamp(min=0) / chains).sqrt()
        assert ((counts - expected).abs() <= z * error + 1e-12).all()


@pytest.fixture
def enumerated():
    return Enumerated


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(0)
