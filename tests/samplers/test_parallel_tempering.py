"""Parallel tempering against enumeration: its joint law, its swaps, its round trips, its cost."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from jumpbench.samplers.chain import ChainInfo
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis
from jumpbench.samplers.parallel_tempering import HOT, Ladder, ParallelTempering, tuned
from jumpbench.targets.tempered import Tempered
from oracles import Ring, Table, all_states, generator

POWERS = torch.tensor([0.0, 0.3, 0.7, 1.0], dtype=torch.float64)


class Frozen:
    """Moves nothing, so that swaps alone are seen."""

    def __call__(self, target, x, steps, generator=None):
        return x.clone(), ChainInfo(torch.ones(len(x)), 1.0 + steps, steps)


def exact_ladder(target, n, rng):
    """Independent draws of every replica's own law: (K, n, D)."""
    states = all_states(target.n_states, target.length)
    laws = (POWERS[:, None] * target.log_prob(states).double()).softmax(-1)
    index = torch.stack([torch.multinomial(law, n, True, generator=rng) for law in laws])
    return Ladder(states[index], torch.zeros(index.shape, dtype=torch.uint8)), states, laws


def counts(x, states, n_states):
    powers = n_states ** torch.arange(x.shape[-1] - 1, -1, -1)
    index = (x * powers).sum(-1)
    return torch.stack([torch.bincount(row, minlength=len(states)) for row in index])


@pytest.mark.parametrize(
    "kernel", [Frozen(), SystematicGibbs(), LocallyBalanced(), OtherSymbolMetropolis()]
)
def test_every_replica_keeps_its_law(kernel):
    """From exact draws, after 3 rounds, every state of every replica within 4.5 standard errors."""
    target, rng, n = Table(), generator(), 60_000
    ladder, states, laws = exact_ladder(target, n, rng)
    moved, _ = ParallelTempering(kernel)(target, ladder, POWERS, 3, rng)
    assert moved.rounds == 3
    error = (laws * (1 - laws) / n).sqrt()
    z = (counts(moved.x, states, 3) / n - laws) / error
    assert z.abs().max() < 4.5


def test_swaps_have_the_exact_probability():
    """Mean acceptance of each pair against the sum over all pairs of states."""
    target, rng, n = Table(), generator(), 200_000
    ladder, states, laws = exact_ladder(target, n, rng)
    _, info = ParallelTempering(Frozen())(target, ladder, POWERS, 2, rng)
    energy = target.log_prob(states).double()
    for k, rate in enumerate(info.swap_rates[:1].tolist() + info.swap_rates[2:].tolist()):
        pair = 2 * k  # the first round's pairs start from independent draws
        gap = POWERS[pair + 1] - POWERS[pair]
        accept = (gap * (energy[:, None] - energy)).clamp(max=0).exp()
        expected = laws[pair] @ accept @ laws[pair + 1]
        assert rate == pytest.approx(float(expected), abs=4 * 0.5 / n**0.5)


def test_without_a_swap_nothing_moves_and_with_equal_powers_all_do():
    target, rng = Table(), generator()
    ladder, *_ = exact_ladder(target, 50, rng)
    same, info = ParallelTempering(Frozen())(target, ladder, torch.ones(4), 1, rng)
    assert torch.equal(same.x, ladder.x[[1, 0, 3, 2]]) and info.swap_rates[0] == 1
    assert info.swap_rates[1].isnan()


def test_round_trips_are_counted():
    """Where every swap is accepted a state moves one rung a round and turns at the ends: a trip
    of four rungs is 8 rounds long."""
    target, rng = Table(), generator()
    ladder, *_ = exact_ladder(target, 5, rng)
    moved, info = ParallelTempering(Frozen())(target, ladder, torch.ones(4), 8, rng)
    # One state of each replica passes each end at a time; the first returns need a way down.
    further, more = ParallelTempering(Frozen())(target, moved, torch.ones(4), 80, rng)
    assert (info.round_trips >= 0).all() and (more.round_trips == 40).all()
    assert torch.equal(further.x, moved.x) and not (further.seen[-1] == HOT).any()


def test_a_kernel_moves_replicas_at_powers_of_their_own():
    target, rng = Ring(), generator()
    x = torch.randint(3, (6, 5), generator=rng)
    powers = torch.tensor([0.1, 0.5, 1.0])
    rows = Tempered(target, powers)
    for k in range(3):
        alone = Tempered(target, float(powers[k]))
        part = slice(2 * k, 2 * k + 2)
        assert torch.allclose(rows.log_prob(x)[part], alone.log_prob(x[part]))
        ratios = rows.neighbor_log_ratios(x)[part]
        assert torch.allclose(ratios, alone.neighbor_log_ratios(x[part]))
    assert not hasattr(rows, "pair")


def test_a_tuned_ladder_is_rejected_evenly():
    """With rejections proportional to a known barrier the tuned powers invert it exactly at the
    given points, and what is even stays as it is."""
    powers = torch.tensor([0.0, 0.1, 0.4, 1.0], dtype=torch.float64)
    assert torch.allclose(tuned(powers, torch.full((3,), 0.6)), powers)
    moved = tuned(powers, torch.tensor([0.9, 0.9, 0.3]))
    assert moved[0] == 0 and moved[-1] == 1 and (moved.diff() > 0).all()
    # 0.3 of 0.9 in all lies a seventh into the last pair (0.1 + 0.1 + 0.1 of 0.7).
    assert moved[1] == pytest.approx(0.4 + 0.6 / 7) and moved[2] == pytest.approx(0.4 + 0.6 * 4 / 7)
    target, rng = Ring(), generator()
    ladder = Ladder.uniform(target, 5, 2000, rng)
    ladder_powers = torch.linspace(0, 1, 5, dtype=torch.float64) ** 3
    spread = []
    for _ in range(4):
        ladder, info = ParallelTempering(SystematicGibbs())(target, ladder, ladder_powers, 8, rng)
        spread.append(float(info.swap_rates.max() - info.swap_rates.min()))
        ladder_powers = tuned(ladder_powers, info.swap_rates)
    assert spread[-1] < 0.04 < spread[0]


def test_the_cost_is_that_of_all_replicas():
    target, rng = Ring(), generator()
    ladder = Ladder.uniform(target, 4, 3, rng)
    _, info = ParallelTempering(SystematicGibbs(), moves=2)(target, ladder, POWERS, 5, rng)
    assert info.cost.energy_evaluations == 4 * (1 + 5 * 2 * 5 * 2)
    assert info.cost.sequential_steps == 5 * 2 * 5


def test_no_value_is_asked_for():
    with FakeTensorMode(allow_non_fake_inputs=True):
        x = torch.zeros(4, 2, 5, dtype=torch.long, device="cuda")
        ladder = Ladder(x, torch.zeros(4, 2, dtype=torch.uint8, device="cuda"))
        ParallelTempering(SystematicGibbs())(Ring(), ladder, POWERS, 2)


def test_the_table_that_a_kernel_starts_with_counts_once_a_replica():
    target, rng = Ring(), generator()
    ladder = Ladder.uniform(target, 4, 3, rng)
    _, info = ParallelTempering(LocallyBalanced(), moves=2)(target, ladder, POWERS, 5, rng)
    assert info.cost.energy_evaluations == 4 * (1 + 5 * 2) * (1 + 5 * 2)
