"""Judging against exact laws: floors by exact draws, weights, modes, the pace of drawing."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.evaluations.energy_classes import BINS
from jumpbench.evaluations.exact_laws import ExactEvaluation, ExactLaws
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.enumerated_draws import EnumeratedDraws
from jumpbench.targets.basins import basins
from jumpbench.targets.boltzmann import SpinGlass, hard_core, random_machine
from jumpbench.targets.enumeration import all_states, enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts
from oracles import Ring, generator

TARGETS = {
    "ising": Ising(4, 0.5),
    "potts": Potts(3, 3, 1.0),
    "glass": SpinGlass(5, 1.0, disorder=1),
    "sets": hard_core(10, 2.0),
    "machine": random_machine(12, 2.0),
    "own": Ring(),
}


def judged(target, samples, weights=None, **extras):
    evaluation = ExactEvaluation(target)
    evaluation.update(Draws(samples, weights, Cost(seconds=2.0), extras), {})
    return evaluation.results()


@pytest.mark.parametrize("name", TARGETS)
def test_exact_draws_score_the_floor(name):
    """Mean over ten sets of draws within a fifth of the stated floor (which is itself a mean)."""
    target, rng, draw = TARGETS[name], generator(), EnumeratedDraws()
    start = torch.zeros(1000, target.length, dtype=torch.long)
    found = [judged(target, draw(target, start, 1, rng)[0]) for _ in range(10)]
    floor = found[0]["energy_tv_floor"]
    assert sum(f["energy_tv"] for f in found) / 10 == pytest.approx(floor, rel=0.2)
    modes = sum(f["mode_imbalance"] for f in found) / 10
    assert modes < 2.2 * found[0]["mode_imbalance_floor"] and floor < 0.11
    assert all(f["modes_found"] == 1 and f["best_gap"] == 0 for f in found)
    assert found[0]["effective_per_second"] == 500 and "log_z" not in found[0]


def test_weights_are_used_and_the_plain_law_is_beside():
    target = Ising(4, 0.25)
    x = torch.randint(2, (200_000, 16), generator=generator())
    weights = target.log_prob(x).double() + 16 * math.log(2)
    values = judged(target, x, weights)
    assert values["plain_energy_tv"] > 0.2 > 0.04 > values["energy_tv"]
    assert values["log_z_deviation"] < 4 * values["log_z_error"] < 0.2
    assert values["effective_samples"] == pytest.approx(200_000 * values["ess"])
    system = torch.arange(200_000) % 20
    grouped = judged(target, x, weights, system=system.double())
    assert grouped["log_z"] == pytest.approx(values["log_z"], abs=1e-9)
    assert 0.3 < grouped["log_z_error"] / values["log_z_error"] < 2.5 and "system" not in grouped


def test_what_chains_say_of_themselves_counts():
    target, x = TARGETS["ising"], torch.zeros(100, 16, dtype=torch.long)
    values = judged(target, x, tau=torch.full((100,), 4.0), draw_seconds=torch.full((100,), 0.5))
    assert values["effective_samples"] == 25 and values["effective_per_second"] == 50
    assert values["setup_seconds"] == 1.5
    assert values["ground_share"] == 1 and values["mode_imbalance"] == pytest.approx(0.5)
    assert values["modes_found"] == 0.5 and values["energy_tv"] > 0.3


def test_modes_of_a_glass_are_its_two_ground_states_sides():
    target = TARGETS["glass"]
    laws = ExactLaws(target)
    x = torch.randint(2, (50, 25), generator=generator())
    assert torch.equal(laws.modes(x), 1 - laws.modes(1 - x))
    assert laws.mode_law.tolist() == [0.5, 0.5]


def test_basins_climb_to_the_maxima():
    """Against a walk state by state."""
    target = random_machine(6, 3.0, couplings=2)
    law = enumerate_law(target)
    mode, weights = basins(target, law)
    index = {tuple(s): i for i, s in enumerate(law.states.tolist())}

    def top(state):
        around = [tuple(b ^ (i == site) for i, b in enumerate(state)) for site in range(len(state))]
        best = max(around, key=lambda s: law.probs[index[s]])
        return top(best) if law.probs[index[best]] > law.probs[index[state]] else state

    tops = [index[top(tuple(state))] for state in law.states.tolist()]
    for a in range(64):
        for b in range(a):
            assert (mode[a] == mode[b]) == (tops[a] == tops[b])
    expected = sorted(float(law.probs[torch.tensor(tops) == t].sum()) for t in set(tops))
    assert weights.flip(0).tolist() == pytest.approx(expected) and len(expected) > 1
    assert float(weights[int(mode[tops[0]])]) > 0 and len(all_states(6, 2)) == len(mode)


def test_many_energies_are_classes_of_about_equal_mass():
    laws = ExactLaws(TARGETS["machine"])
    assert BINS / 3 < len(laws.energy_law) <= BINS and laws.energy_law.max() < 0.25
    assert float(laws.energy_law.sum()) == pytest.approx(1)


def test_what_is_not_known_exactly_is_refused_before_a_run():
    with pytest.raises(UserError, match=r"2\^81 states has no exact laws"):
        ExactEvaluation(Ising(9, 0.3))
