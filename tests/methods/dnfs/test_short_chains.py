"""Chains of a few steps: long ones reach the target, their energies are judged without weights."""

import math
from functools import partial

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.evaluations.thermodynamics import ThermodynamicsEvaluation
from jumpbench.methods.dnfs.baselines.short_chains import ShortChains
from jumpbench.samplers.mcmc.gibbs import RandomScanGibbs, SystematicGibbs
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising

TARGET = Ising(3, 0.3)


@pytest.mark.parametrize("kernel, steps", [(SystematicGibbs(), 60), (RandomScanGibbs(), 400)])
def test_long_chains_have_the_exact_mean_energy(kernel, steps):
    """20,000 chains; within five standard errors of the enumerated mean."""
    method = ShortChains(TARGET, kernel, steps, evaluation=ThermodynamicsEvaluation(TARGET))
    draws = method.draw_chains(20_000, torch.Generator().manual_seed(0))
    method.evaluation.update(draws, {})
    values = method.evaluation.results()
    law = enumerate_law(TARGET)
    energy = -TARGET.log_prob(law.states).double() / (TARGET.beta * TARGET.length)
    mean = float(law.probs @ energy)
    error = float((law.probs @ (energy - mean).square()).sqrt()) / 20_000**0.5
    assert abs(values["mean_energy"] - mean) < 5 * error
    assert values["mean_energy_deviation"] == pytest.approx(
        abs(values["mean_energy"] - mean), abs=1e-6
    )
    assert "ess" not in values
    # A normal error of that size is away from zero by sqrt(2 / pi) of it on average.
    floor = values["mean_energy_deviation_floor"]
    assert floor == pytest.approx(error * (2 / math.pi) ** 0.5, rel=1e-6)


def test_a_chain_of_one_step_is_still_nearly_uniform():
    draw = partial(ShortChains, TARGET, RandomScanGibbs())
    one = draw(1).draw_chains(20_000, torch.Generator().manual_seed(0))
    assert abs(one.samples.double().mean() - 0.5) < 0.01
    energy = TARGET.log_prob(one.samples).double().mean()
    assert 0 < energy < 0.3 * (enumerate_law(TARGET).probs @ TARGET.log_prob(
        enumerate_law(TARGET).states).double())  # fmt: skip
    with pytest.raises(UserError, match="steps must be at least 1"):
        draw(0)
