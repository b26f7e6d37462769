"""One definition of an energy evaluation, against the states that a network energy was put through.

The energy has no shortcut, so that every ratio is made of energies. What an implementation
evaluates twice counts once: a batch that is the batch of the call before is left out.
"""

import math
from functools import partial

import pytest
import torch
from torch import nn

from jumpbench.data.numbers import Numbers
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.unnormalised.leaps import LEAPS
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.locally_equivariant import LocallyEquivariantPerceptron
from jumpbench.samplers.annealed_jumps import TRAPEZOIDAL, KernelMoves, annealed_rollout
from jumpbench.samplers.cost import Meter, metered, table_evaluations
from jumpbench.samplers.mcmc.gibbs import BlockedGibbs, RandomScanGibbs, SystematicGibbs
from jumpbench.samplers.mcmc.langevin import DiscreteLangevin, step_size
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.samplers.mcmc.metropolis import MultiSiteMetropolis, SingleSiteMetropolis
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis
from jumpbench.targets.base import check_target, random_states
from jumpbench.targets.consistency import check_consistency
from jumpbench.targets.counted import Counted
from jumpbench.targets.energy_network import EnergyNetwork
from jumpbench.targets.ising import Ising
from oracles import generator
from support import quiet_trainer

CHAINS, D, N = 5, 4, 3
TABLE = 1 + D * (N - 1)


class Energy(nn.Module):
    """A perceptron of ``length`` sites."""

    def __init__(self, length=D, n_states=N):
        super().__init__()
        self.length, self.n_states = length, n_states
        self.layers = nn.Sequential(nn.Linear(length, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x.float()).squeeze(-1)


@pytest.fixture
def law():
    torch.manual_seed(0)
    return Counted(EnergyNetwork(Energy()))


def start(law):
    return random_states(law, (CHAINS,), generator())


KERNELS = {
    "single site": (SingleSiteMetropolis(), 7 + 1),
    "other symbol": (OtherSymbolMetropolis(), 7 + 1),
    "two sites": (MultiSiteMetropolis(2), 7 + 1),
    "random scan": (RandomScanGibbs(), 7 * (N - 1) + 1),
    "sweeps": (SystematicGibbs(), 7 * D * (N - 1) + 1),
    "blocks": (BlockedGibbs(torch.eye(D).bool()), 7 * D * TABLE),
    "locally balanced": (LocallyBalanced(), 8 * TABLE),
    "Langevin": (DiscreteLangevin(step_size(0.2)), 8 * TABLE),
}


@pytest.mark.parametrize("kernel, expected", KERNELS.values(), ids=KERNELS)
def test_a_kernel_counts_the_states_that_it_asks_for(kernel, expected, law):
    _, info = kernel(law, start(law), 7, generator())
    assert info.energy_evaluations == info.cost.energy_evaluations == expected
    assert law.states == CHAINS * expected


def test_a_roll_out_counts_a_table_at_every_grid_point(law):
    network = LocallyEquivariantPerceptron(D, N, hidden=4)
    times = torch.linspace(0, 1, 33)
    drawn = annealed_rollout(network, law, times, CHAINS, generator(), ends=TRAPEZOIDAL)
    assert drawn.cost.energy_evaluations == 33 * TABLE
    assert law.states == CHAINS * 33 * TABLE
    law.states = 0
    moves = KernelMoves(LocallyBalanced(), 2)
    drawn = annealed_rollout(network, law, times, CHAINS, generator(), moves)
    assert drawn.cost.energy_evaluations == 32 * TABLE + 32 * 3 * TABLE
    assert law.states == CHAINS * drawn.cost.energy_evaluations


def test_thirty_two_bits_and_thirty_three_grid_points():
    """33 (1 + 32) = 1089, where a count of calls would say 66."""
    law = Counted(EnergyNetwork(Energy(32, 2)))
    network = LocallyEquivariantPerceptron(32, 2, hidden=2)
    times = torch.linspace(0, 1, 33)
    drawn = annealed_rollout(network, law, times, 2, generator(), ends=TRAPEZOIDAL)
    assert drawn.cost.energy_evaluations == 1089
    assert law.states == 2 * 1089


def test_training_of_the_flow_sampler_counts_roll_outs_and_losses(law):
    learner = Learner(LocallyEquivariantPerceptron(D, N, hidden=4), 8, CHAINS, 2, 6)
    learner.refresh(law, generator())
    learner.loss(generator(1))
    assert learner.meter.energy == law.states == (9 * CHAINS + 6) * TABLE
    assert learner.meter.network == 9 * CHAINS + 6


def test_training_of_leaps_counts_roll_outs_moves_and_losses(law, tmp_path):
    method = LEAPS(
        target=law, network=partial(LocallyEquivariantPerceptron, hidden=4),
        free_energy=partial(FreeEnergy, hidden=4, depth=1), evaluation=TargetEvaluation(law),
        optimizer=partial(torch.optim.Adam, lr=1e-3), n_steps=6, n_chains=CHAINS, batch_size=8,
        stored_rollouts=4, refresh_every=2, horizon_steps=0, n_metropolis=5,
    )  # fmt: skip
    check_target(law, start(law))
    checked = law.asked / CHAINS * 64  # of 64 states when training begins
    law.asked = 0
    check_consistency(law, start(law))
    checked += law.asked
    law.asked = 0
    quiet_trainer(3, tmp_path).fit(method, Numbers())
    rollout = CHAINS * 6 * (TABLE + 5 + 1)
    assert method.spent.energy_evaluations == 3 * (rollout + 8 * TABLE)
    twice = 3 * (CHAINS * 6 + 8)  # states whose energy is asked for beside their table
    assert law.asked - checked - twice == method.spent.energy_evaluations


def test_a_metered_target_counts_tables():
    for law in (EnergyNetwork(Energy()), Ising(3, 0.3)):
        meter = Meter()
        counted = metered(law, meter)
        x = random_states(law, (CHAINS,), generator())
        counted.log_prob(x)
        counted.neighbor_log_ratios(x)
        assert meter.energy == CHAINS * (1 + 1 + law.length * (law.n_states - 1))


def test_a_closed_form_costs_what_the_same_energies_would():
    """A lattice's table and its fast proposals, beside the same law known by log_prob alone."""
    lattice = Ising(3, 0.3)
    x = random_states(lattice, (CHAINS,), generator())
    for kernel, same in (
        (LatticeMetropolis(), OtherSymbolMetropolis()),
        (LocallyBalanced(), LocallyBalanced()),
    ):
        law = Counted(EnergyNetwork(Energy(9, 2)))
        _, fast = kernel(lattice, x, 6, generator())
        _, slow = same(law, x, 6, generator())
        assert fast.energy_evaluations == slow.energy_evaluations
        assert law.states == CHAINS * slow.energy_evaluations
    assert table_evaluations(lattice) == 1 + 9


def test_a_tables_price_may_be_the_targets_own(law):
    law.table_evaluations = 2.5
    meter = Meter()
    metered(law, meter).neighbor_log_ratios(start(law))
    assert meter.energy == math.ceil(2.5 * CHAINS)
