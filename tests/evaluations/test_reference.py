"""Judging by a long run: what exact draws score against others, and what samples say alone."""

import math

import pytest
import torch

from jumpbench.evaluations.own_numbers import OwnNumbersEvaluation, halves_tv
from jumpbench.evaluations.reference import ReferenceEvaluation
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.targets.boltzmann import random_machine
from jumpbench.targets.enumeration import enumerate_law
from oracles import generator

TARGET = random_machine(8, 1.0)
LAW = enumerate_law(TARGET)


def exact(n, rng):
    return LAW.states[LAW.probs.multinomial(n, replacement=True, generator=rng)].long()


def test_exact_draws_score_the_floor_of_both_samples(tmp_path):
    """Mean over twenty pairs within a tenth of the stated floor."""
    rng, found = generator(), []
    for _ in range(20):
        alone = OwnNumbersEvaluation(TARGET)
        alone.update(Draws(exact(1500, rng), cost=Cost(seconds=1.0)), {})
        alone.results()
        torch.save(alone.artifacts(), tmp_path / "samples.pt")
        judge = ReferenceEvaluation(TARGET, tmp_path)
        judge.update(Draws(exact(1000, rng)), {})
        found.append(judge.results())
    mean = {k: sum(f[k] for f in found) / len(found) for k in found[0]}
    assert mean["energy_tv"] == pytest.approx(mean["energy_tv_floor"], rel=0.1)
    # The halves differ by sqrt(2) / sqrt(n / 2), the whole from the law by 1 / sqrt(n): twice.
    assert mean["reference_error"] < mean["energy_tv_floor"]


def test_samples_alone_tell_their_mean_energy_with_its_error():
    rng, z = generator(), []
    energy = TARGET.energy(LAW.states.long()).double()
    for weighted in (False, True) * 10:
        x = torch.randint(2, (2000, 8), generator=rng) if weighted else exact(2000, rng)
        weights = TARGET.log_prob(x).double() + 8 * math.log(2) if weighted else None
        alone = OwnNumbersEvaluation(TARGET)
        alone.update(Draws(x, weights, Cost(energy_evaluations=3.0, seconds=2.0)), {})
        values = alone.results()
        z.append((values["mean_energy"] - LAW.mean(energy)) / values["mean_energy_error"])
        assert ("log_z" in values) == weighted and values["lowest_energy"] >= energy.min() - 1e-6
        assert alone.artifacts()["values"]["energy_evaluations"] == 3
    assert max(map(abs, z)) < 4 and 0.4 < sum(v * v for v in z) / len(z) < 2


def test_halves_that_disagree_are_one_apart():
    energy = torch.tensor([1.0, 1.0, 5.0, 5.0])
    share = torch.full((4,), 0.25, dtype=torch.float64)
    assert halves_tv(energy, share) == 1 and halves_tv(energy[[0, 2, 0, 2]], share) == 0
    one_sided = torch.tensor([0.5, 0.5, 0.0, 0.0], dtype=torch.float64)
    assert halves_tv(energy, one_sided) == 1 == halves_tv(energy, one_sided.flip(0))
