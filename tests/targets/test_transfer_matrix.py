"""Transfer matrices against enumeration, Kaufman's formula and the specification's values."""

import pytest

from jumpbench.errors import UserError
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.kaufman import ising_torus
from jumpbench.targets.transfer_matrix import torus_with_field


@pytest.mark.parametrize("beta, coupling, field", [(0.3, 1.0, 0.0), (0.25, -1.0, 0.7)])
def test_against_enumeration(beta, coupling, field):
    target = Ising(4, beta, coupling, field)
    law, found = enumerate_law(target), torus_with_field(target)
    assert found.log_z == pytest.approx(law.log_z, abs=1e-5)
    values = target.log_prob(law.states).double()
    assert found.mean_log_prob == pytest.approx(law.mean(values), abs=1e-5)
    spread = law.mean((values - law.mean(values)).square()) ** 0.5
    assert found.std_log_prob == pytest.approx(spread, rel=1e-5)
    spin = law.mean((2 * law.states.double() - 1).mean(-1))
    assert found.mean_spin == pytest.approx(spin, abs=1e-6)


def test_five_by_five_with_field():
    found = torus_with_field(Ising(5, 0.2, field=1.0))
    assert found.log_z == pytest.approx(19.674086, abs=1e-6)
    assert found.mean_spin == pytest.approx(0.482970, abs=1e-6)


@pytest.mark.parametrize(
    "beta, log_z, free, internal, entropy",
    [
        (0.2, 73.45310, -3.672655, -0.428240, 0.648883),
        (0.4407, 93.61225, -2.124172, -1.476329, 0.285504),
        (0.4461, 94.41876, -2.116538, -1.510412, 0.270393),
    ],
)
def test_exact_values_of_the_ten_by_ten_torus(beta, log_z, free, internal, entropy):
    found, kaufman = torus_with_field(Ising(10, beta)), ising_torus(10, beta)
    assert found.log_z == pytest.approx(kaufman.log_z, abs=1e-9)
    assert found.log_z == pytest.approx(log_z, abs=1e-5)
    assert -found.log_z / (beta * 100) == pytest.approx(free, abs=1e-6)
    energy = -found.mean_log_prob / (beta * 100)
    assert energy == pytest.approx(internal, abs=1e-6)
    assert energy == pytest.approx(kaufman.mean_energy / 100, abs=1e-9)
    assert beta * (internal - free) == pytest.approx(entropy, abs=2e-6)


def test_larger_tori_are_refused():
    with pytest.raises(UserError, match="rows of 11 spins"):
        torus_with_field(Ising(11, 0.2))
