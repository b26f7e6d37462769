import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.metrics.lattice import equal_symbol_probability, majority_fraction
from jumpbench.targets.base import Target
from jumpbench.targets.enumeration import all_states, enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.kaufman import ising_torus
from jumpbench.targets.potts import Potts

F64 = torch.float64
CRITICAL = math.log(1 + math.sqrt(2)) / 2


# L, beta, log Z, E/D, std E, <|m|>, C(1)
ISING = [
    (3, 0.28, 7.178078, -0.888705, 6.626420, 0.597810, None),
    (3, 0.4407, 9.020405, -1.611289, 5.397674, 0.871087, None),
    (3, 0.6, 11.587695, -1.906558, 2.773158, 0.972103, None),
    (4, 0.28, 12.530667, -0.750199, 8.466196, 0.476252, 0.375099),
    (4, 0.4407, 15.522246, -1.565677, 8.032752, 0.843883, 0.782839),
    (4, 0.6, 20.056533, -1.908070, 3.744945, 0.972867, 0.954035),
]


@pytest.mark.parametrize(("size", "beta", "log_z", "energy", "std", "magnetization", "c1"), ISING)
def test_enumerated_ising(size, beta, log_z, energy, std, magnetization, c1):
    target = Ising(size, beta, dtype=F64)
    law = enumerate_law(target)
    energies = target.energy(law.states)
    spins = 2 * law.states.double() - 1
    correlation = 2 * equal_symbol_probability(law.states, size) - 1
    assert law.log_z == pytest.approx(log_z, abs=1e-6)
    assert law.mean(energies) / size**2 == pytest.approx(energy, abs=1e-6)
    assert law.std(energies) == pytest.approx(std, abs=1e-5)
    assert law.mean(spins.mean(-1).abs()) == pytest.approx(magnetization, abs=1e-6)
    # Every edge joins neighbours at lag 1, and there are two of them per site.
    assert law.mean(correlation[:, 1]) == pytest.approx(-energy / 2, abs=1e-6)
    if c1 is not None:
        assert law.mean(correlation[:, 1]) == pytest.approx(c1, abs=1e-6)
        assert law.mean(correlation[:, 2]) == pytest.approx(
            {0.28: 0.247456, 0.4407: 0.740554, 0.6: 0.948938}[beta], abs=1e-6
        )


@pytest.mark.parametrize(
    ("n_states", "beta", "log_z", "energy", "std", "majority"),
    [
        (3, 0.5, 13.517144, -0.993172, 3.065421, 0.618679),
        (3, 1.005, 19.688116, -1.742062, 3.217927, 0.914052),
        (4, 1.0986, 21.688966, -1.716863, 3.475318, 0.905523),
    ],
)
def test_enumerated_potts(n_states, beta, log_z, energy, std, majority):
    target = Potts(3, n_states, beta, dtype=F64)
    law = enumerate_law(target)
    energies = target.energy(law.states)
    assert law.log_z == pytest.approx(log_z, abs=1e-6)
    assert law.mean(energies) / 9 == pytest.approx(energy, abs=1e-6)
    assert law.std(energies) == pytest.approx(std, abs=1e-6)
    assert law.mean(majority_fraction(law.states, n_states)) == pytest.approx(majority, abs=1e-6)
    correlation = equal_symbol_probability(law.states, 3) - 1 / n_states
    assert -2 * (law.mean(correlation[:, 1]) + 1 / n_states) == pytest.approx(
        law.mean(energies) / 9, abs=1e-11
    )


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize(
    ("beta", "coupling"), [(0.05, 1.0), (0.28, 1.4), (CRITICAL, 1.0), (0.9, 1)]
)
def test_kaufman_agrees_with_enumeration(size, beta, coupling):
    target = Ising(size, beta, coupling, dtype=F64)
    law = enumerate_law(target)
    energies = target.energy(law.states)
    torus = ising_torus(size, beta, coupling)
    assert torus.log_z == pytest.approx(law.log_z, rel=1e-12)
    assert torus.mean_energy == pytest.approx(law.mean(energies), rel=1e-10)
    assert torus.std_energy == pytest.approx(law.std(energies), rel=1e-8)


@pytest.mark.parametrize(
    ("beta", "log_z", "energy", "std"),
    [
        (0.28, 0.777091, -0.642933, 41.44),
        (0.4407, 0.930826, -1.440249, 71.06),
        (0.6, 1.211336, -1.909086, 22.39),
    ],
)
def test_kaufman_at_the_published_size(beta, log_z, energy, std):
    torus = ising_torus(24, beta)
    assert torus.log_z / 576 == pytest.approx(log_z, abs=1e-6)
    assert torus.mean_energy / 576 == pytest.approx(energy, abs=1e-6)
    assert torus.std_energy == pytest.approx(std, abs=0.01)


def test_all_states_are_counted_once_in_order():
    states = all_states(4, 3)
    assert states.shape == (81, 4)
    powers = 3 ** torch.arange(3, -1, -1)
    assert torch.equal((states.long() * powers).sum(-1), torch.arange(81))


def test_histogram_of_every_state_once_is_uniform():
    law = enumerate_law(Potts(3, 2, 0.3))
    assert torch.equal(law.histogram(law.states, 2), torch.full((512,), 1 / 512, dtype=F64))


def test_too_large_or_impossible_is_refused():
    with pytest.raises(UserError, match="too many"):
        all_states(21, 2)
    for size, beta in ((2, 0.3), (4, 0.0), (4, -0.3)):
        with pytest.raises(UserError, match="Kaufman"):
            ising_torus(size, beta)


@pytest.mark.parametrize(("value", "words"), [
    (math.inf, r"NaN or \+inf at 4 of 8 states"), (math.nan, r"NaN or \+inf at 4 of 8 states"),
    (None, "every state probability 0"),
])  # fmt: skip
def test_a_law_needs_finite_probabilities(value, words):
    class Odd(Target):
        def log_prob(self, x):
            if value is None:
                return torch.full(x.shape[:-1], -math.inf)
            return torch.where(x[..., 0] == 1, value, 0.0)

    with pytest.raises(UserError, match=words):
        enumerate_law(Odd(3, 2))


def test_a_log_prob_of_another_shape_is_refused():
    class Wide(Target):
        def log_prob(self, x):
            return x.float()[..., :1]

    with pytest.raises(
        UserError, match=r"log_prob of Wide must map \(B, 3\) to \(B,\), not to \(B, 1\)"
    ):
        enumerate_law(Wide(3, 2))
