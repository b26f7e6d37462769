"""The bound's mean by enumeration of all masks; with exact conditionals it reaches log p."""

import itertools

import pytest
import torch

from jumpbench.metrics.masked_bound import masked_bound

LAW = torch.tensor([6.0, 1, 1, 1, 5, 1, 1, 1, 3], dtype=torch.float64).view(3, 3) / 20
MASK = 3


def conditionals(x, k):
    """p(x_i | the visible sites) of the law above, (B, 2, 4), 0 for the mask."""
    rows = []
    for a, b in x.tolist():
        first = LAW.sum(1) if b == MASK else LAW[:, b] / LAW[:, b].sum()
        second = LAW.sum(0) if a == MASK else LAW[a] / LAW[a].sum()
        rows.append(torch.stack([first, second]))
    return torch.nn.functional.pad(torch.stack(rows), (0, 1))


def exact_mean(x0, masked):
    """Every pattern of masks at every step, weighted by its probability."""
    total = 0.0
    for before, here in itertools.pairwise(masked.tolist()):
        for pattern in itertools.product((0, 1), repeat=2):
            odds = torch.tensor([here if p else 1 - here for p in pattern]).prod()
            x = torch.where(torch.tensor(pattern).bool(), MASK, x0)
            law = conditionals(x[None], 0)[0]
            sites = [law[i, x0[i]].log() for i in range(2) if pattern[i]]
            total += float(odds * (here - before) / here * sum(sites, torch.tensor(0.0)))
    return total


@pytest.mark.parametrize("steps", [1, 4])
def test_mean_over_masks(steps):
    generator = torch.Generator().manual_seed(steps)
    masked = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    x0 = torch.tensor([0, 1])
    drawn = masked_bound(conditionals, x0.expand(4000, 2), masked, MASK, generator)
    error = float(drawn.std()) / 4000**0.5
    assert abs(float(drawn.mean()) - exact_mean(x0, masked)) < 4.5 * error + 1e-6


def test_exact_conditionals_reach_the_likelihood():
    """The sum is an integral's upper sum of nothing but masks: the error falls as 1 / K."""
    for x0 in itertools.product(range(3), repeat=2):
        log_p = float(LAW[x0].log())
        gaps = []
        for steps in (64, 128):
            masked = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
            gaps.append(abs(exact_mean(torch.tensor(x0), masked) - log_p))
        assert gaps[1] < 0.02 and gaps[1] < 0.55 * gaps[0] + 1e-9
