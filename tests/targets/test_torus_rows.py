"""Rows of a torus against enumeration, Kaufman's formula and their own draws."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.targets.boltzmann import SpinGlass
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.kaufman import ising_torus
from jumpbench.targets.potts import Potts
from jumpbench.targets.torus_rows import TorusRows
from oracles import generator

DOUBLE = torch.float64
SMALL = {
    "ising": Ising(3, 0.4, coupling=1.5, dtype=DOUBLE),
    "antiferromagnet": Ising(4, 0.3, coupling=-1.0, dtype=DOUBLE),
    "potts": Potts(3, 3, 0.9, dtype=DOUBLE),
    "antiferromagnetic potts": Potts(3, 3, 0.9, coupling=-2.0, dtype=DOUBLE),
    "glass": SpinGlass(4, 0.7, disorder=1, dtype=DOUBLE),
    "odd glass": SpinGlass(3, 2.0, disorder=2, dtype=DOUBLE),
}


@pytest.mark.parametrize("target", SMALL.values(), ids=SMALL)
def test_against_enumeration(target):
    """log Z, the law of the energy, ground states and their number, the law of the agreement."""
    law, rows = enumerate_law(target), TorusRows.of(target)
    energy = target.energy(law.states)
    assert rows.log_z == pytest.approx(law.log_z, abs=1e-10)
    for value, probability, count in zip(rows.energies, rows.bond_law, rows.counts, strict=True):
        here = (energy - value).abs() < 1e-9
        assert int(count) == int(here.sum())
        assert float(probability) == pytest.approx(float(law.probs[here].sum()), abs=1e-12)
    assert rows.ground == (
        pytest.approx(float(energy.min())),
        int((energy < energy.min() + 1e-9).sum()),
    )
    best = rows.ground_state()
    assert float(target.energy(best)) == pytest.approx(float(energy.min()))
    agree = (law.states == best).sum(1)
    expected = torch.zeros(target.length + 1, dtype=DOUBLE).index_add_(0, agree, law.probs)
    assert torch.allclose(rows.agreement_law(best), expected, atol=1e-12)


@pytest.mark.parametrize("target", [SMALL["potts"], SMALL["odd glass"]], ids=["potts", "glass"])
def test_draws_have_the_law(target):
    """Every state within 4.5 standard errors (Potts: the 400 likeliest of 19,683)."""
    n, law = 200_000, enumerate_law(target)
    found = law.histogram(TorusRows.of(target).draw(n, generator()), target.n_states)
    likely = law.probs.topk(min(400, len(law.probs))).indices
    p = law.probs[likely]
    assert (((found[likely] - p) / (p * (1 - p) / n).sqrt()).abs() < 4.5).all()
    assert float(found.sum()) == pytest.approx(1)


@pytest.mark.parametrize("size, beta", [(6, 0.4407), (6, 0.6)])
def test_against_kaufman(size, beta):
    rows, kaufman = TorusRows.of(Ising(size, beta)), ising_torus(size, beta)
    assert rows.log_z == pytest.approx(kaufman.log_z, abs=1e-9)
    assert float(rows.bond_law @ rows.energies) == pytest.approx(kaufman.mean_energy, abs=1e-8)
    assert float(rows.counts.sum()) == 2.0 ** (size * size)
    law = rows.agreement_law(torch.ones(size * size))
    assert torch.allclose(law, law.flip(0), atol=1e-14)  # the symmetry of up and down


def test_the_published_problems_have_their_size():
    potts = TorusRows.of(Potts(4, 4, 1.0))
    assert float(potts.counts.sum()) == 4.0**16 and potts.ground == (-32.0, 4)
    glass = SpinGlass(6, 1.0, disorder=0)
    rows = TorusRows.of(glass)
    energy, number = rows.ground
    assert float(glass.energy(rows.ground_state())) == energy and number % 2 == 0
    drawn = rows.draw(4000, generator())
    mean = float(rows.bond_law @ rows.energies)
    spread = float(rows.bond_law @ (rows.energies - mean) ** 2) ** 0.5
    assert abs(float(glass.energy(drawn).mean()) - mean) < 4 * spread / 4000**0.5


def test_what_has_no_rows():
    assert TorusRows.of(Ising(4, 0.3, field=0.1)) is None
    assert TorusRows.of(Ising(9, 0.3)) is None and TorusRows.of(Potts(5, 4, 1.0)) is None
    with pytest.raises(UserError, match=r"2\^9 rows"):
        wants = torch.ones(9, 9, dtype=torch.bool)
        TorusRows(9, 2, wants, wants, 0.3)
