"""Random-scan Metropolis against enumerated laws, 20,000 chains; z-scores below 4."""

import math

import pytest
import torch

from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis
from jumpbench.targets.base import random_states
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts
from oracles import generator

CHAINS = 20_000


@pytest.mark.parametrize(
    "target",
    [Ising(3, 0.28, field=0.3), Ising(3, 0.2, coupling=-1.0), Potts(3, 3, 0.7)],
    ids=["field", "antiferromagnet", "potts"],
)
def test_energy_and_symbols_have_their_law(target):
    law = enumerate_law(target)
    start = random_states(target, (CHAINS,), generator())
    x, info = LatticeMetropolis()(target, start, 400, generator(1))
    statistics = (
        target.energy,
        lambda x: target.energy(x) ** 2,
        lambda x: x.double().mean(-1),
        lambda x: (x[:, 0] == x[:, 4]).double(),
    )
    for statistic in statistics:
        exact = statistic(law.states)
        error = law.std(exact) / math.sqrt(CHAINS)
        assert abs(float(statistic(x).double().mean()) - law.mean(exact)) < 4 * error
    energies = target.energy(start)
    assert abs(float(energies.mean()) - law.mean(target.energy(law.states))) > 10 * error
    assert (info.energy_evaluations, info.sequential_steps) == (401, 400)
    assert ((info.acceptance > 0) & (info.acceptance < 1)).all()


@pytest.mark.parametrize("kernel, current", [
    (LatticeMetropolis(), False), (LatticeMetropolis(current=True), True),
    (OtherSymbolMetropolis(), False),
])  # fmt: skip
@pytest.mark.parametrize("n_states", [2, 3, 4])
def test_one_step_has_its_exact_law(n_states, kernel, current):
    """From one state: every neighbour at min(1, ratio) / D M, of M symbols proposed."""
    proposed = n_states if current else n_states - 1
    target = Potts(3, n_states, 0.5)
    start = random_states(target, (1,), generator(3))
    ratios = target.neighbor_log_ratios(start)[0].double()
    other = torch.arange(n_states) != start[0].unsqueeze(-1)
    law = torch.where(other, ratios.exp().clamp(max=1) / (9 * proposed), 0.0)
    x, info = kernel(target, start.expand(CHAINS, 9), 1, generator(4))
    changed = x != start
    assert (changed.sum(-1) <= info.acceptance).all()
    assert current or (changed.sum(-1) == info.acceptance).all()
    for d in range(9):
        for n in range(n_states):
            if n == start[0, d]:
                continue
            p = float(law[d, n])
            share = float((changed[:, d] & (x[:, d] == n)).double().mean())
            assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / CHAINS)


@pytest.mark.parametrize("kernel", [LatticeMetropolis(current=True), OtherSymbolMetropolis()])
def test_many_steps_leave_the_law_alone(kernel):
    target = Potts(3, 3, 0.7)
    law = enumerate_law(target)
    x, _ = kernel(target, random_states(target, (CHAINS,), generator()), 400, generator(1))
    exact = target.energy(law.states)
    error = law.std(exact) / math.sqrt(CHAINS)
    assert abs(float(target.energy(x).double().mean()) - law.mean(exact)) < 4 * error


def test_the_start_is_left_alone_and_types_are_kept():
    target = Ising(4, 0.3)
    start = random_states(target, (7,), generator()).to(torch.uint8)
    before = start.clone()
    x, _ = LatticeMetropolis()(target, start, 100, generator(1))
    assert torch.equal(start, before) and x.dtype == torch.uint8
    assert torch.equal(x, LatticeMetropolis()(target, start, 100, generator(1))[0])
    assert torch.equal(LatticeMetropolis()(target, start, 0, generator(1))[0], start)
