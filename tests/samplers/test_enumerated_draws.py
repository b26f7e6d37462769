"""Independent draws of small targets."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.samplers.enumerated_draws import EnumeratedDraws
from jumpbench.targets.base import random_states
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.tempered import Tempered
from oracles import generator


def test_draws_have_the_law_whatever_the_start():
    """Largest deviation of 512 frequencies, 40,000 draws: below 5 standard errors."""
    target = Ising(3, 0.3, coupling=-1.0, field=0.2)
    law = enumerate_law(target)
    start = torch.zeros(40_000, 9, dtype=torch.uint8)
    x, info = EnumeratedDraws()(target, start, 7, generator())
    error = (law.probs * (1 - law.probs) / len(x)).sqrt()
    z = (law.histogram(x, 2) - law.probs) / error
    assert float(z.abs().max()) < 5 and (start == 0).all()
    assert info.energy_evaluations == 0 and info.sequential_steps == 1
    assert torch.equal(EnumeratedDraws()(target, start, 7, generator())[0], x)
    assert torch.equal(EnumeratedDraws()(target, x, 0, generator())[0], x)


def test_a_large_target_is_refused():
    target = Ising(5, 0.3, coupling=-1.0, field=0.1)
    with pytest.raises(UserError, match="too many to enumerate"):
        EnumeratedDraws()(target, random_states(target, (2,), generator()), 1, generator())


def test_a_power_for_each_group_of_a_batch_is_refused():
    """Enumerated, such a target would give blocks of all states powers of their own."""
    ladder = Tempered(Ising(3, 0.3), torch.tensor([0.0, 0.5, 0.75, 1.0]))
    x = torch.zeros(8, 9, dtype=torch.long)
    with pytest.raises(UserError, match="no single law"):
        EnumeratedDraws()(ladder, x, 1, generator())
    assert len(EnumeratedDraws()(Tempered(Ising(3, 0.3), 0.5), x, 1, generator())[0]) == 8
