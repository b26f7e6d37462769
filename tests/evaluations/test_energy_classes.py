"""Classes of energies: where they end, and what rounding does to them."""

import torch

from jumpbench.evaluations.energy_classes import BINS, EnergyClasses, floor, floor_spread
from jumpbench.targets.boltzmann import random_machine
from jumpbench.targets.enumeration import enumerate_law


def test_classes_of_many_energies_end_between_energies():
    """In float32 one energy may come out as either of two neighbours, by the size of a batch."""
    target = random_machine(12, 3.0)
    law = enumerate_law(target)
    energy = -target.log_prob(law.states)
    classes = EnergyClasses(energy, law.probs)
    for direction in (torch.inf, -torch.inf):
        moved = energy.nextafter(torch.full_like(energy, direction))
        assert torch.equal(classes.of(moved, law.probs), classes.law)


def test_a_class_ends_where_its_share_is_reached():
    energy = torch.arange(1000.0)
    classes = EnergyClasses(energy, torch.full((1000,), 1e-3, dtype=torch.float64))
    assert len(classes.law) == BINS
    assert (classes.law - 1 / BINS).abs().max() <= 1e-3 + 1e-12
    heavy = torch.tensor([0.5, *[0.5 / 999] * 999], dtype=torch.float64)
    first, *rest = EnergyClasses(energy, heavy).law.tolist()
    assert first == 0.5 and len(rest) == BINS // 2


def test_the_deviation_of_exact_draws_is_that_of_simulated_ones():
    """20,000 histograms of 2,048 draws: mean and deviation within four standard errors."""
    torch.manual_seed(0)
    for law in ([0.5, 0.5], [0.25] * 4, [0.7, 0.2, 0.06, 0.04], [1 / 30] * 30):
        law = torch.tensor(law, dtype=torch.float64)
        counts = torch.distributions.Multinomial(2048, probs=law).sample((20_000,))
        distance = 0.5 * (counts / 2048 - law).abs().sum(1)
        mean, spread = distance.mean(), distance.std()
        assert abs(mean - floor(law, 2048)) < 4 * spread / 20_000**0.5
        assert abs(spread / mean / floor_spread(law) - 1) < 4 / 20_000**0.5
