"""A target whose methods disagree is refused, and what is exact of a class is not of its heirs."""

import pytest
import torch
from torch import nn

from jumpbench.errors import UserError
from jumpbench.evaluations.exact_laws import ExactLaws
from jumpbench.methods.unnormalised.chains import Chains
from jumpbench.samplers import LocallyBalanced
from jumpbench.targets import Ising, Potts, Target, enumerate_law
from jumpbench.targets.base import random_states
from jumpbench.targets.boltzmann import SpinGlass, random_machine
from jumpbench.targets.consistency import check_consistency
from jumpbench.targets.energy_network import EnergyNetwork, TaylorRatios
from jumpbench.targets.tempered import Tempered
from jumpbench.targets.torus_rows import TorusRows


class Diagonal(Ising):
    """Ising with a third bond, in ``log_prob`` alone."""

    def log_prob(self, x):
        spins = self.grid(self.spins(x))
        return super().log_prob(x) - 0.4 * (spins * spins.roll((1, 1), (-2, -1))).sum((-2, -1))


class Whole(Diagonal):
    """The same with its ratios: one law again, but not that of ``pair``."""

    neighbor_log_ratios = Target.neighbor_log_ratios


class Flipped(Target):
    def log_prob(self, x):
        return 0.7 * (x == x.roll(1, -1)).sum(-1).float()

    def neighbor_log_ratios(self, x):
        return -super().neighbor_log_ratios(x)


class Square(nn.Module):
    n_states, length = 2, 9

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(9, generator=torch.Generator().manual_seed(0)))

    def forward(self, x):
        return (x.float() @ self.weight) ** 2

    def of_one_hot(self, z):
        return self(z[..., 1])


def states(target):
    return random_states(target, (16,), torch.Generator().manual_seed(0))


@pytest.mark.parametrize("target", [
    Ising(4, 0.4, field=0.3), Ising(16, 0.6), Potts(4, 5, 1.1), random_machine(12, 3.0),
    SpinGlass(4, 2.0, 1), Tempered(Ising(4, 0.4, field=0.3), 0.5), TaylorRatios(Square()),
    EnergyNetwork(Square()),
], ids=lambda target: type(target).__name__)  # fmt: skip
def test_our_targets_are_consistent(target):
    check_consistency(target, states(target))


@pytest.mark.parametrize(("target", "words"), [
    (Diagonal(4, 0.3), r"Diagonal.neighbor_log_ratios is .* at site \d+, symbol \d, where"),
    (Whole(4, 0.3), "Whole has pair and field"),
    (Flipped(6, 3), "Flipped.neighbor_log_ratios is"),
])  # fmt: skip
def test_disagreeing_methods_are_refused_before_chains_start(target, words):
    with pytest.raises(UserError, match=words):
        check_consistency(target, states(target))
    with pytest.raises(UserError, match=words):
        Chains(target, LocallyBalanced(), burn_in=1).start(8, torch.Generator())


def test_a_wrong_conditional_is_refused():
    class Sites(Flipped):
        neighbor_log_ratios = Target.neighbor_log_ratios

        def site_log_ratios(self, x, site):
            return self.neighbor_log_ratios(x)[torch.arange(len(x)), site] * 2

    with pytest.raises(UserError, match=r"Sites.site_log_ratios is .* at site \d"):
        check_consistency(Sites(6, 3), states(Sites(6, 3)))


def test_a_subclass_with_another_law_is_enumerated():
    """The rows of the torus are those of the class."""
    target = Diagonal(3, 0.3)
    assert TorusRows.of(target) is None and TorusRows.of(Ising(3, 0.3)) is not None
    assert ExactLaws(target).log_z == pytest.approx(enumerate_law(target).log_z, abs=1e-5)
