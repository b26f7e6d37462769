"""Errors in print, SymmetricDiffusers: the printed form fails where the right one holds."""

import pytest
import torch

from jumpbench.methods.symmetric_diffusers import reached_laws
from jumpbench.processes.permutations import all_permutations, compose
from jumpbench.processes.shuffles import tv_to_uniform
from jumpbench.tables.language.spec import load


@pytest.mark.parametrize(
    ("n", "last", "distance"), [(200, 12, 0.079), (19, 7, 0.075), (49, 7, 0.305)]
)
def test_three_published_schedules_do_not_follow_the_rule(n, last, distance):
    """T should have a distance of about .005 to uniform: sort-200 and both tours are far above (the
    first of 20 and 50 cities stays where it is)."""
    assert float(tv_to_uniform(n, last)) == pytest.approx(distance, abs=5e-4)


def test_a_swap_of_the_last_two_values_is_none_of_the_last_two_positions():
    """The proof has (n-1 n) o sigma, which swaps values; its display swaps positions."""
    group = all_permutations(4)
    swap = torch.tensor([0, 1, 3, 2]).expand_as(group)
    positions = group[:, [0, 1, 3, 2]]
    assert torch.equal(compose(group, swap), positions)
    assert not torch.equal(compose(swap, group), positions)


def printed_chain(target, n):
    """The chain of Theorem 6 with the divisor 1 - excess, otherwise as ours."""
    group = all_permutations(n)
    yield reached_laws._send(group, range(len(group)), 1)
    left, pairs = 1.0, target.view(-1, 2).tolist()
    for pair, (at_sigma, at_pi) in enumerate(pairs):
        sigma, pi = 2 * pair, 2 * pair + 1
        excess = 0.0 if pair == len(pairs) - 1 else left - at_sigma - at_pi
        if excess > 0:
            yield reached_laws._swap_last(group, pi, excess / left)
            yield reached_laws._send(group, [sigma], pi + 2)
        yield reached_laws._swap_last(group, pi, at_sigma / (1 - excess))
        left = excess


@pytest.mark.parametrize("n", [3, 4])
def test_the_divisor_of_the_split_in_theorem_6(n):
    """The paper's 1 - excess is the share of the pair for the first pair only: with it the chain
    ends elsewhere."""
    size = len(all_permutations(n))
    target = torch.rand(size, generator=torch.Generator().manual_seed(n)).double()
    target /= target.sum()
    law = torch.full_like(target, 1 / size)
    for scores in printed_chain(target, n):
        law = reached_laws.push_forward(law, scores)
    assert (law - target).abs().max() > 0.01
    ours = reached_laws.laws_along(target, n)[-1]
    assert (ours - target).abs().max() < 1e-14


def test_one_cell_has_two_values_in_print():
    """GPL, greedy, n = 52: a tau of .799 in Table 3, of .779 in Table 6."""
    first = load("symmetric_diffusers/table3").published["kendall_tau"]["n=52"]["RS: GPL + greedy"]
    second = load("symmetric_diffusers/table6").published["kendall_tau"]["RS + GPL + greedy"][
        "n=52"
    ]
    assert (first.value, second.value) == (0.799, 0.779)
