"""Cluster moves against enumerated laws: 20,000 chains from uniform starts, z-scores below 4."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.samplers.clusters.bonds import bond_probability, open_bonds
from jumpbench.samplers.clusters.swendsen_wang import SwendsenWang
from jumpbench.samplers.clusters.wolff import Wolff
from jumpbench.samplers.cost import Meter, metered
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.targets.base import random_states
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.lattice import PairLattice
from jumpbench.targets.potts import Potts
from jumpbench.targets.tabular import Tabular
from jumpbench.targets.tempered import Tempered
from oracles import generator

CHAINS = 20_000
MOVES = [(SwendsenWang(), 20), (Wolff(), 50)]


def chi_square_z(observed, probs):
    """z-score of Pearson's statistic, categories expected fewer than 5 times taken together."""
    expected = probs * observed.sum()
    rare = expected < 5
    observed = torch.cat((observed[~rare], observed[rare].sum(0, keepdim=True)))
    expected = torch.cat((expected[~rare], expected[rare].sum(0, keepdim=True)))
    keep = expected > 0
    freedom = int(keep.sum()) - 1
    statistic = ((observed - expected).square() / expected)[keep].sum()
    return float((statistic - freedom) / math.sqrt(2 * freedom))


@pytest.mark.parametrize(("move", "n_moves"), MOVES)
@pytest.mark.parametrize("beta", [0.28, 0.6])
def test_every_state_of_ising_has_its_probability(move, n_moves, beta):
    target = Ising(3, beta, dtype=torch.float64)
    law = enumerate_law(target)
    start = random_states(target, (CHAINS,), generator())
    x, info = move(target, start, n_moves, generator(1))
    assert info.sequential_steps == info.energy_evaluations == n_moves
    assert (info.acceptance == 1).all()
    assert chi_square_z(law.histogram(x, 2) * CHAINS, law.probs) < 4
    assert chi_square_z(law.histogram(start, 2) * CHAINS, law.probs) > 100


@pytest.mark.parametrize(("move", "n_moves"), MOVES)
@pytest.mark.parametrize(("beta", "field"), [(0.28, 0.3), (0.6, -0.1)])
def test_every_state_of_ising_in_a_field_has_its_probability(move, n_moves, beta, field):
    target = Ising(3, beta, field=field, dtype=torch.float64)
    law = enumerate_law(target)
    start = random_states(target, (CHAINS,), generator())
    x, info = move(target, start, n_moves, generator(1))
    assert chi_square_z(law.histogram(x, 2) * CHAINS, law.probs) < 4
    # A field of the other sign, or one that acts once a cluster, is seen.
    other = enumerate_law(Ising(3, beta, field=-field, dtype=torch.float64))
    assert chi_square_z(law.histogram(x, 2) * CHAINS, other.probs) > 20
    rejects = isinstance(move, Wolff)
    assert bool((info.acceptance < 1).any()) == rejects and (info.acceptance > 0).all()


@pytest.mark.parametrize(("move", "n_moves"), MOVES)
def test_a_field_on_three_symbols(move, n_moves):
    class InField(Potts):
        def __init__(self):
            super().__init__(3, 3, 0.8, dtype=torch.float64)
            self.field = torch.tensor([0.2, -0.3, 0.0], dtype=torch.float64)

        def log_prob(self, x):
            return super().log_prob(x) + self.field[x.long()].sum(-1)

    target = InField()
    law = enumerate_law(target)
    x, _ = move(target, random_states(target, (CHAINS,), generator()), n_moves, generator(1))

    def category(x):
        counts = torch.stack([(x == n).sum(-1) for n in range(2)])
        return (counts[0] * 10 + counts[1]) * 19 - target.energy(x).long()

    probs = torch.zeros(1900, dtype=torch.float64).index_add_(0, category(law.states), law.probs)
    observed = torch.bincount(category(x), minlength=1900).double()
    assert chi_square_z(observed, probs) < 4


@pytest.mark.parametrize(("move", "n_moves"), MOVES)
@pytest.mark.parametrize(("n_states", "beta"), [(3, 1.005), (4, 0.7)])
def test_potts_energies_and_symbols_have_their_law(move, n_moves, n_states, beta):
    target = Potts(3, n_states, beta)
    law = enumerate_law(target)
    # Energies are 0..-18; times the symbols of two adjacent sites.
    classes = n_states**2 * 19

    def category(x):
        return (-target.energy(x).long() * n_states + x[:, 0]) * n_states + x[:, 1]

    probs = torch.zeros(classes, dtype=torch.float64)
    probs.index_add_(0, category(law.states), law.probs)
    x, _ = move(target, random_states(target, (CHAINS,), generator()), n_moves, generator(1))
    observed = torch.bincount(category(x), minlength=classes).double()
    assert chi_square_z(observed, probs) < 4


@pytest.mark.parametrize("move", [SwendsenWang(), Wolff()])
def test_the_start_is_left_alone_and_the_seed_decides(move):
    target = Potts(4, 3, 0.9)
    start = random_states(target, (5,), generator())
    before = start.clone()
    first, _ = move(target, start, 3, generator(1))
    again, _ = move(target, start, 3, generator(1))
    assert torch.equal(start, before) and torch.equal(first, again)
    assert first.shape == start.shape
    assert not torch.equal(first, move(target, start, 3, generator(2))[0])


def test_one_wolff_move_changes_one_cluster_to_one_other_symbol():
    target = Potts(6, 4, 0.8)
    start = random_states(target, (200,), generator()).to(torch.uint8)
    after, _ = Wolff()(target, start, 1, generator(1))
    for a, b in zip(start, after, strict=True):
        changed = a != b
        assert changed.any()
        assert len(a[changed].unique()) == len(b[changed].unique()) == 1


def test_bonds_open_between_equal_neighbours_at_the_right_rate():
    for target in (Ising(8, 0.3), Potts(8, 2, 0.6)):
        probability = bond_probability(target)
        assert probability == pytest.approx(1 - math.exp(-0.6), rel=1e-12)
    grid = target.grid(random_states(target, (2000,), generator()))
    right, down = open_bonds(grid, probability, generator(1))
    for bonds, axis in ((right, 2), (down, 1)):
        equal = grid == grid.roll(-1, axis)
        assert not (bonds & ~equal).any()
        share = float(bonds.sum() / equal.sum())
        error = math.sqrt(probability * (1 - probability) / float(equal.sum()))
        assert abs(share - probability) < 4 * error


def test_targets_without_clusters_are_refused():
    for target, message in (
        (Ising(4, 0.3, coupling=-1.0), "coupling"),
        (Tabular(torch.zeros(2, 2)), "Tabular"),
    ):
        for move in (SwendsenWang(), Wolff()):
            with pytest.raises(UserError, match=message):
                move(target, torch.zeros(1, target.length, dtype=torch.long), 1, generator())


@pytest.mark.parametrize("kernel", [SwendsenWang(), Wolff(), LatticeMetropolis()])
def test_wrapped_and_new_lattices_pass(kernel):
    """A tempered model is the model at that temperature, draw for draw; a user's own one works."""
    start = random_states(Ising(3, 0.6), (50,), generator())
    ends = [
        kernel(target, start, 20, generator(1))[0]
        for target in (Ising(3, 0.6), Tempered(Ising(3, 1.2), 0.5), metered(Ising(3, 0.6), Meter()))
    ]
    assert torch.equal(ends[0], ends[1]) and torch.equal(ends[0], ends[2])

    class Clock(PairLattice):
        """Three symbols that like to be equal: log nu = 0.7 per equal edge, written by hand."""

        def __init__(self):
            super().__init__(3, 0.7 * torch.eye(3), torch.zeros(3), 1.0)

        def energy(self, x):
            return -self.pair[x.long(), :].sum(-1).sum(-1)  # not needed by the kernels

    x = random_states(Potts(3, 3, 0.7), (50,), generator())
    ours, potts = (kernel(t, x, 20, generator(1))[0] for t in (Clock(), Potts(3, 3, 0.7)))
    assert torch.equal(ours, potts)


def test_wolff_turns_to_every_other_symbol_of_more_than_a_byte_s_half():
    """From symbol 190 of 200 a cluster takes each other one as often; 190 + 199 exceeds a byte."""
    n = 199_000
    target, start = Potts(3, 200, 0.0), torch.full((n, 9), 190, dtype=torch.uint8)
    after, _ = Wolff()(target, start, 1, generator(5))
    changed = after[after != 190].long()
    assert len(changed) == n  # without bonds a cluster is one site
    seen = torch.bincount(changed, minlength=200).double()
    z = (seen - n / 199) / math.sqrt(n / 199 * (1 - 1 / 199))
    assert seen[190] == 0 and z[torch.arange(200) != 190].abs().max() < 4.5
