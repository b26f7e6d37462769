"""Errors in print, SymmetricDiffusers: the printed form fails where the right one holds."""

import pytest
import torch

from jumpbench.processes.permutations import all_permutations, compose
from jumpbench.processes.shuffles import tv_to_uniform
from jumpbench.tables.language.spec import load


@pytest.mark.parametrize(("n", "last"), [(200, 12), (19, 7), (49, 7)])
def test_three_published_schedules_do_not_follow_the_rule(n, last):
    """T should have a distance of about .005 to uniform: sort-200 and both tours are far above (the
    first of 20 and 50 cities stays where it is)."""
    assert float(tv_to_uniform(n, last)) > 0.07


def test_a_swap_of_the_last_two_values_is_none_of_the_last_two_positions():
    """The proof has (n-1 n) o sigma, which swaps values; its display swaps positions."""
    group = all_permutations(4)
    swap = torch.tensor([0, 1, 3, 2]).expand_as(group)
    positions = group[:, [0, 1, 3, 2]]
    assert torch.equal(compose(group, swap), positions)
    assert not torch.equal(compose(swap, group), positions)


@pytest.mark.parametrize("n", [3, 4])
def test_the_divisor_of_the_split_in_theorem_6(n):
    """The paper's 1 - excess is the share of the pair for the first pair only."""
    law = torch.rand(len(all_permutations(n)), generator=torch.Generator().manual_seed(n)).double()
    shares = (law / law.sum()).view(-1, 2).sum(-1)
    left = 1.0
    for number, share in enumerate(shares.tolist()):
        printed = 1 - (left - share)
        assert (printed == pytest.approx(share)) == (number == 0)
        left -= share


def test_one_cell_has_two_values_in_print():
    """GPL, greedy, n = 52: a tau of .799 in Table 3, of .779 in Table 6."""
    first = load("symmetric_diffusers/table3").published["kendall_tau"]["n=52"]["RS: GPL + greedy"]
    second = load("symmetric_diffusers/table6").published["kendall_tau"]["RS + GPL + greedy"][
        "n=52"
    ]
    assert (first.value, second.value) == (0.799, 0.779)
