"""Summaries of states, and what weighted means of interacting particles are worth."""

import pytest
import torch

from jumpbench.metrics.summaries import effective_of_systems, summaries
from jumpbench.samplers.weights import effective_sample_size
from jumpbench.targets.boltzmann import SpinGlass
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.potts import Potts


def test_energy_and_shares_of_symbols():
    x = torch.tensor([[0, 0, 1, 2, 0, 0, 0, 0, 1], [2, 2, 2, 2, 2, 2, 2, 2, 2]], dtype=torch.uint8)
    target = Potts(3, 3, 0.5)
    energy, majority, first = summaries(target, x)
    assert torch.equal(energy, target.energy(x).double())
    assert torch.allclose(majority, torch.tensor([6 / 9, 1.0]).double())
    assert torch.allclose(first, torch.tensor([6 / 9, 0.0]).double())


def test_of_a_glass_the_agreement_with_a_ground_state():
    """A state and its reverse are told apart, whatever the magnetisation."""
    glass = SpinGlass(3, 1.0, disorder=1)
    states = enumerate_law(glass).states
    ground = states[glass.energy(states).argmin()]
    flips = torch.where(torch.eye(9).bool(), 1 - ground, ground)
    flipped = flips[glass.energy(flips).argmax()]  # not another ground state
    x = torch.stack((flipped, ground, 1 - ground)).view(3, 1, 9)
    _, majority, agreement = summaries(glass, x)
    assert torch.allclose(agreement[:, 0], torch.tensor([8 / 9, 1, 0]).double())
    assert torch.allclose(majority[:, 0], torch.tensor([8 / 9, 1, 1]).double())


def test_independent_particles_are_worth_their_weights_and_copies_one_each():
    """S = 512 systems: the spread between them has a relative error of sqrt(2 / S) = 6 %."""
    generator = torch.Generator().manual_seed(0)
    n, size = 8192, 16
    values = torch.randn(3, n, generator=generator, dtype=torch.float64)
    weights = 0.5 * torch.randn(n, generator=generator, dtype=torch.float64)
    system = torch.arange(n) // size
    found = effective_of_systems(values, weights.softmax(0), system)
    assert found == pytest.approx(n * float(effective_sample_size(weights)), rel=0.2)
    copied = values.view(3, n // size, size)[..., :4].repeat(1, 1, 4).view(3, n)
    equal = torch.full((n,), 1 / n, dtype=torch.float64)
    assert effective_of_systems(copied, equal, system) == pytest.approx(n / 4, rel=0.2)
    constant = torch.ones(3, n, dtype=torch.float64)
    assert effective_of_systems(constant, equal, system) == n
    with pytest.raises(ValueError, match="two of them"):
        effective_of_systems(values, equal, torch.zeros(n))
