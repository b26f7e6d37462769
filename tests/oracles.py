"""What oracles of several test files are made of: seeded generators, small spaces enumerated, and a
law on 3 sites of 3 symbols with its masked conditionals."""

import itertools

import torch
from torch import nn

from jumpbench.targets.base import Target


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def all_states(n_states, length):
    """Every state of {0..N-1}^D, ``(N^D, D)``, the last site fastest."""
    return torch.tensor(list(itertools.product(range(n_states), repeat=length)))


def neighbours(x, n_states):
    """(D, N, D): x with site i set to n."""
    length = x.shape[-1]
    y = x.expand(length, n_states, length).clone()
    sites = torch.arange(length)
    for n in range(n_states):
        y[sites, n, sites] = n
    return y


class Ring(Target):
    """A user's own target: a ring of five three-valued sites that like to differ by one."""

    def __init__(self):
        super().__init__(5, 3)

    def log_prob(self, x):
        step = (x.long() - x.long().roll(1, -1)) % 3
        return 1.2 * (step == 1).float().sum(-1) + 0.5 * (x[..., 0] == 2)


LENGTH, N = 3, 3
POWERS = torch.tensor([9, 3, 1])


class Table(Target):
    """An arbitrary positive law on 3 sites of 3 symbols."""

    def __init__(self, seed=0):
        super().__init__(LENGTH, N)
        self.table = torch.randn(N**LENGTH, generator=generator(seed), dtype=torch.float64)

    def log_prob(self, x):
        return self.table[(x * POWERS).sum(-1)]


class TabularLogits(nn.Module):
    """One free logit per masked state, site and symbol."""

    def __init__(self, scale=1.0, seed=1):
        super().__init__()
        shape = ((N + 1,) * LENGTH) + (LENGTH, N)
        self.table = nn.Parameter(scale * torch.randn(shape, generator=generator(seed)))

    def forward(self, x):
        return self.table[tuple(x.unbind(-1))]


def true_conditionals(target):
    """Logits of the exact conditional laws for every partly masked state."""
    logits = TabularLogits()
    x, law = all_states(N, LENGTH), target.table.softmax(0)
    with torch.no_grad():
        logits.table.zero_()
        for masked in itertools.product(range(N + 1), repeat=LENGTH):
            pattern = torch.tensor(masked)
            fits = ((x == pattern) | (pattern == N)).all(-1)
            for site, symbol in itertools.product(range(LENGTH), range(N)):
                if pattern[site] == N:
                    mass = law[fits & (x[:, site] == symbol)].sum()
                    logits.table[(*masked, site, symbol)] = mass.log()
    return logits
