"""Boltzmann machines against their definition, bond by bond, and the sets of a graph."""

import math
import pickle

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.targets.base import generic_neighbor_log_ratios
from jumpbench.targets.boltzmann import BoltzmannMachine, SpinGlass, hard_core, random_machine
from jumpbench.targets.enumeration import all_states
from oracles import generator

MACHINES = {
    "random": random_machine(7, 1.3, field=0.4),
    "sets": hard_core(7, 2.0, 0.4),
    "glass": SpinGlass(3, 0.8, disorder=4),
}


@pytest.mark.parametrize("target", MACHINES.values(), ids=MACHINES)
def test_ratios_are_those_of_the_law(target):
    x = torch.randint(2, (40, target.length), generator=generator())
    slow = generic_neighbor_log_ratios(target.log_prob, x, 2)
    fast = target.neighbor_log_ratios(x)
    assert torch.allclose(fast, slow, atol=2e-5) and fast.abs().max() > 0.5
    site = torch.randint(target.length, (40,), generator=generator(1))
    assert torch.allclose(target.site_log_ratios(x, site), fast[torch.arange(40), site], atol=1e-6)


def test_a_glass_is_its_bonds():
    target = SpinGlass(4, 0.8, disorder=2)
    assert set(target.right.unique().tolist()) == {-1.0, 1.0}
    x = torch.randint(2, (20, 16), generator=generator())
    spins = (2.0 * x - 1).view(-1, 4, 4)
    beside, below = spins.roll(-1, 2), spins.roll(-1, 1)
    energy = -(spins * (target.right * beside + target.down * below)).sum((1, 2))
    assert torch.equal(target.energy(x), energy)
    assert not torch.equal(target.right, SpinGlass(4, 0.8, disorder=3).right)


def test_the_best_states_of_a_hard_core_law_are_the_largest_independent_sets():
    target = hard_core(9, 1.0, edge_probability=0.3, graph=5)
    edges = (target.couplings.triu(1) != 0).nonzero()
    states = all_states(9, 2).long()
    conflicts = sum(states[:, i] * states[:, j] for i, j in edges.tolist())
    assert torch.allclose(target.log_prob(states), (states.sum(1) - 2.0 * conflicts), atol=1e-5)
    largest = int(states[conflicts == 0].sum(1).max())
    assert float(target.log_prob(states).max()) == pytest.approx(largest, abs=1e-5)
    best = target.log_prob(states) > largest - 1e-3
    assert not conflicts[best].any()


def test_couplings_have_the_variance_that_is_stated():
    upper = random_machine(60, 1.0).couplings.triu(1)
    values = upper[upper != 0]
    assert float(values.var() * 60) == pytest.approx(1, abs=4 * math.sqrt(2 / len(values)))


def test_what_is_no_machine_is_refused():
    for couplings in (torch.eye(3), torch.tensor([[0.0, 1.0], [2.0, 0.0]])):
        with pytest.raises(UserError, match="symmetric"):
            BoltzmannMachine(couplings, 1.0)
    with pytest.raises(UserError, match="beta"):
        BoltzmannMachine(torch.zeros(2, 2), -1.0)
    with pytest.raises(UserError, match="size >= 3"):
        SpinGlass(2, 1.0)
    with pytest.raises(UserError, match="penalty"):
        hard_core(5, 1.0, penalty=1.0)


def test_couplings_are_copied_to_a_device_once_and_pickled_without_copies():
    machine, x = random_machine(5, 1.0), torch.zeros(2, 5, dtype=torch.long, device="meta")
    machine.site_log_ratios(x, torch.zeros(2, dtype=torch.long, device="meta"))
    first, _ = machine._on(x.device)
    assert machine._on(x.device)[0] is first and first.is_meta
    again = pickle.loads(pickle.dumps(machine))
    assert torch.equal(again.couplings, machine.couplings) and not again._copies
