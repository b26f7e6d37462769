"""Lumped turns against turns over all states, and what they say about the balance of modes."""

import math

import pytest
import torch
from lightning import Trainer

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.methods.dasbs.curie_weiss import CurieWeiss, flip_ratios
from jumpbench.methods.dasbs.exact_turns import ExactTurns
from jumpbench.methods.dasbs.sampler import Grid
from jumpbench.methods.dasbs.turn_factors import TurnFactors
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from jumpbench.targets.enumeration import all_states


def exact_turns(spins, strength, n_steps=6, gamma=1.0, memoryless=False, corrected=True):
    schedule = ModifiedLogLinear(gamma, 0.0 if memoryless else 0.5)
    grid = Grid.uniform(schedule, n_steps, 0.01 if memoryless else 0.0)
    reference = Reference(UniformProcess(2), schedule)
    return ExactTurns(CurieWeiss(spins, strength), reference, grid, memoryless, corrected)


class Enumerated:
    """The same turn over all 2^D states, from the definitions: every sum is written out."""

    def __init__(self, turns):
        self.turns = turns
        spins, self.reference = turns.target.spins, turns.reference
        self.states = all_states(spins, 2).long()
        self.up = self.states.sum(-1)
        self.log_nu = turns.target.strength / (2 * spins) * (2.0 * self.up - spins).double() ** 2
        self.flipped = torch.arange(2**spins)[:, None] ^ (1 << torch.arange(spins - 1, -1, -1))
        if turns.memoryless:
            self.starts = torch.full((1, 2**spins), 0.5**spins, dtype=torch.float64)
            self.sources = range(2**spins)
        else:
            self.starts = torch.zeros(2, 2**spins, dtype=torch.float64)
            self.starts[0, 0] = self.starts[1, -1] = 0.5
            self.sources = (0, 2**spins - 1)

    def kernel(self, s, t):
        """p(y at t | x at s), (2^D, 2^D), row = from."""
        site = self.reference.process.kernel(
            torch.as_tensor(self.reference.schedule.integral(s, t), dtype=torch.float64)
        )
        return math.prod(
            site[self.states[:, None, d], self.states[None, :, d]]
            for d in range(self.states.shape[1])
        )

    def targets(self):
        """nu-ratio over Phihat of every flip at every state, (2^D, D)."""
        potential = self.log_nu
        if self.turns.corrected and not self.turns.memoryless:
            potential = potential - self.kernel(0.0, 1.0)[list(self.sources)].sum(0).log()
        return (potential[self.flipped] - potential[:, None]).exp()

    def control(self, coupling, t):
        """E[target at x_1 of the flip of spin d | x_t], (2^D, D), of ends (S, 2^D)."""
        if self.turns.memoryless:  # the start is forgotten: x_t depends on x_1 alone
            joint = self.kernel(t, 1.0).T * coupling.sum(0)[:, None]
        else:
            joint = sum(
                (ends / self.kernel(0.0, 1.0)[c])[:, None]
                * self.kernel(t, 1.0).T
                * self.kernel(0.0, t)[c]
                for ends, c in zip(coupling, self.sources, strict=True)
            )  # of x_1 (row) and x_t
        mass = joint.sum(0)
        mean = (joint.T @ self.targets()) / mass[:, None]
        return torch.where(mass[:, None] > 0, mean, 1.0)

    def turn(self, coupling):
        law, grid = self.starts, self.turns.grid
        for t, noise in zip(grid.times[:-1], grid.noise, strict=True):
            flip = self.control(coupling, t) * noise / 2
            flip = torch.where(flip > 1, 0.0, flip)[:, None]
            other = self.states[:, None] != self.states[None]
            law = law @ torch.where(other, flip, 1 - flip).prod(-1)
        return law

    def lumped(self, coupling):
        """Of states (S, 2^D) to counts of up spins (S, D + 1)."""
        counts = coupling.new_zeros(len(coupling), self.states.shape[1] + 1)
        return counts.index_add(1, self.up, coupling)

    def spread(self, coupling):
        """Back, every state of a count alike."""
        return (coupling / self.turns.target.log_states.exp())[:, self.up]


SETTINGS = [
    {"memoryless": True},
    {"corrected": True},
    {"corrected": False},
    {"corrected": True, "gamma": 0.25},
    {"corrected": True, "n_steps": 2, "strength": 3.0},  # rows above one: such sites stay
]


@pytest.mark.parametrize("spins", [3, 4])
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_lumped_turn_is_the_turn_over_all_states(spins, setting):
    turns = exact_turns(spins, **({"strength": 1.4} | setting))
    whole = Enumerated(turns)
    tilted = turns.solved * (1 + 0.4 * torch.linspace(-1, 1, spins + 1).double())
    tilted = tilted / tilted.sum(1, keepdim=True) * turns.solved.sum(1, keepdim=True)
    for coupling in (turns.solved, tilted, turns.one_mode):
        expected = whole.lumped(whole.turn(whole.spread(coupling)))
        torch.testing.assert_close(turns.turn(coupling), expected, rtol=0, atol=1e-12)
        step = 1
        control = whole.control(whole.spread(coupling), turns.grid.times[step])
        lumped = turns.controls(coupling)[step]
        up = whole.states.bool()
        torch.testing.assert_close(
            torch.where(up, lumped[1, whole.up, None], lumped[0, whole.up, None]), control
        )


def test_the_magnet_is_what_it_is_called():
    """Local field K m: the log-ratio of a flip is -2 s K m plus the spin's own 2 K / D."""
    magnet = CurieWeiss(7, 1.3)
    mean_spin = (2 * magnet.up - 7) / 7
    rise, fall = flip_ratios(magnet.log_nu)
    torch.testing.assert_close(rise[:-1], (2 * 1.3 * mean_spin + 2 * 1.3 / 7)[:-1])
    torch.testing.assert_close(fall[1:], (-2 * 1.3 * mean_spin + 2 * 1.3 / 7)[1:])
    states = all_states(7, 2).long()
    weight = (1.3 / 14 * (2.0 * states.sum(-1) - 7).double() ** 2).softmax(0)
    law = torch.zeros(8, dtype=torch.float64).index_add(0, states.sum(-1), weight)
    torch.testing.assert_close(magnet.law, law)


def test_the_solved_bridge_has_both_ends_and_a_turn_stays_there_as_time_steps_shrink():
    errors = []
    for n_steps in (10, 20, 40):
        turns = exact_turns(4, 1.4, n_steps)
        torch.testing.assert_close(turns.solved.sum(0), turns.target.law)
        torch.testing.assert_close(turns.solved.sum(1), torch.tensor([0.5, 0.5]).double())
        errors.append(float((turns.turn(turns.solved) - turns.solved).abs().sum()))
    assert errors[1] < 0.6 * errors[0] and errors[2] < 0.6 * errors[1]


@pytest.mark.parametrize("setting", [{"memoryless": True}, {"corrected": False}, {}])
def test_the_factor_is_that_of_a_small_tilt_over_turns(setting):
    turns = exact_turns(6, 1.6, 12, **setting)
    balanced = turns.solved
    for _ in range(40):
        after = turns.turn(balanced)
        balanced = (after + after.flip(0, 1)) / 2
    coupling = balanced * (1 + 1e-5 * turns.target.mode)
    coupling = coupling / coupling.sum(1, keepdim=True) * balanced.sum(1, keepdim=True)
    tilts = []
    for _ in range(12):
        coupling = turns.turn(coupling)
        tilts.append(turns.tilt(coupling) - turns.tilt(balanced))
    factor, moved = turns.restoring_factor(12, 40)
    assert factor == pytest.approx(tilts[-1] / tilts[-2], rel=1e-2)
    assert moved < 1e-6


def test_memory_restores_the_balance_and_its_absence_does_not():
    """From one mode: the start's symbol tells the modes apart, a memoryless target does not."""
    strong = {"spins": 12, "strength": 1.8, "n_steps": 25}
    memoryless = exact_turns(**strong, memoryless=True)
    remembering = exact_turns(**strong)
    kept = memoryless.imbalances(memoryless.one_mode, 3)
    restored = remembering.imbalances(remembering.one_mode, 3)
    assert kept[0] == pytest.approx(0.5, abs=1e-9) and kept[-1] > 0.4
    assert restored[0] == pytest.approx(0.5, abs=1e-9) and restored[-1] < 0.05
    assert remembering.restoring_factor()[0] < 0.7 < 0.9 < memoryless.restoring_factor()[0]


def test_the_method_prints_what_the_turns_say():
    memoryless = {"schedule": ModifiedLogLinear(1.0, 0.0), "start": 0.01, "memoryless": True}
    for changes in ({}, {"corrected": False}, memoryless):
        settings = {"schedule": ModifiedLogLinear(1.0, 0.5)} | changes
        method = TurnFactors(spins=5, beta=0.3, n_steps=8, turns=2, **settings)
        trainer = Trainer(accelerator="cpu", logger=False, enable_progress_bar=False)
        trainer.test(method, Numbers(1, 1), verbose=False)
        turns = exact_turns(
            5, 1.2, 8, memoryless="memoryless" in changes, corrected="corrected" not in changes
        )
        expected = turns.imbalances(turns.one_mode, 2)
        assert [method.results[f"imbalance@{n}"] for n in range(3)] == pytest.approx(expected)
        assert method.results["restoring_factor"] == pytest.approx(turns.restoring_factor()[0])
    with pytest.raises(UserError, match="at least 2 spins"):
        TurnFactors(1, 0.3, ModifiedLogLinear(), 4)


@pytest.mark.parametrize(("n_steps", "factor"), [(50, 1.021), (100, 0.892)])
def test_the_time_steps_decide_whether_the_leaderboards_magnet_gathers(n_steps, factor):
    """Stage 1 at beta 0.4407, in mean field: a tilt grows with 50 steps and dies out with 100."""
    turns = exact_turns(36, 4 * 0.4407, n_steps=n_steps, corrected=False)
    assert turns.restoring_factor()[0] == pytest.approx(factor, abs=1e-3)
