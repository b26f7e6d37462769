"""Energies of networks as laws: ratios, gradients, the Taylor approximation."""

import pytest
import torch
from torch import nn

from jumpbench.errors import UserError
from jumpbench.networks.bit_energy import BitEnergy
from jumpbench.targets.base import generic_neighbor_log_ratios
from jumpbench.targets.energy_network import EnergyNetwork, TaylorRatios


@pytest.mark.parametrize("n_states", [2, 3])
def test_ratios_are_those_of_the_energy(n_states):
    torch.manual_seed(0)
    energy = BitEnergy(6, n_states, hidden=16).double()
    law = EnergyNetwork(energy)
    x = torch.randint(n_states, (7, 6))
    brute = generic_neighbor_log_ratios(law.log_prob, x, n_states)
    assert (law.neighbor_log_ratios(x) - brute).abs().max() < 1e-12
    assert brute.abs().max() > 1e-3
    assert not law.neighbor_log_ratios(x).requires_grad


def test_size_of_the_papers_energy():
    assert 160e3 < sum(p.numel() for p in BitEnergy(32).parameters()) < 170e3


def test_a_module_of_ones_own():
    own = nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))

    class Own(nn.Module):
        def forward(self, x):
            return own(x.float())

    law = EnergyNetwork(Own(), 4, 2)
    x = torch.tensor([[0, 1, 1, 0]])
    weight = own[0].weight[0]
    flip = torch.stack([-weight[i] * (1 - 2 * x[0, i]) for i in range(4)])
    assert torch.allclose(law.neighbor_log_ratios(x)[0].sum(-1), flip, atol=1e-6)
    with pytest.raises(UserError, match="does not say its length"):
        EnergyNetwork(Own())


def test_taylor_ratios_are_exact_for_a_linear_energy_and_not_otherwise():
    class Linear(nn.Module):
        length, n_states = 4, 3

        def __init__(self):
            super().__init__()
            self.weight = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))

        def of_one_hot(self, z):
            return (z * self.weight).sum((-2, -1))

        def forward(self, x):
            return self.of_one_hot(nn.functional.one_hot(x.long(), 3).float())

    x = torch.randint(3, (5, 4), generator=torch.Generator().manual_seed(1))
    exact, taylor = EnergyNetwork(Linear()), TaylorRatios(Linear())
    assert torch.allclose(exact.neighbor_log_ratios(x), taylor.neighbor_log_ratios(x), atol=1e-5)
    torch.manual_seed(0)
    bits = BitEnergy(6, hidden=16)
    x = torch.randint(2, (5, 6), generator=torch.Generator().manual_seed(1))
    exact, taylor = (kind(bits).neighbor_log_ratios(x) for kind in (EnergyNetwork, TaylorRatios))
    assert 1e-4 < (exact - taylor).abs().max() < 0.5
    with torch.inference_mode():  # as in a trainer's test stage
        assert torch.equal(TaylorRatios(bits).neighbor_log_ratios(x), taylor)
