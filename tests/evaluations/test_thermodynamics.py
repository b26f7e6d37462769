"""Thermodynamics from exact samples and exact weights, and the offset of left-end weights."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.evaluations.thermodynamics import ThermodynamicsEvaluation
from jumpbench.evaluations.weights import SYSTEM, of_weights
from jumpbench.paths import suite_root
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import Target
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising


def test_exact_samples_score_the_exact_values():
    target = Ising(3, 0.3, field=0.4)
    law = enumerate_law(target)
    judge = ThermodynamicsEvaluation(target)
    for seed in range(4):
        g = torch.Generator().manual_seed(seed)
        x = law.states[torch.multinomial(law.probs, 4000, True, generator=g)].long()
        weights = torch.full((4000,), law.log_z, dtype=torch.float64)
        with torch.inference_mode():
            judge.update(Draws(x, weights, extras={"left_log_weights": weights - 0.1}), {})
    with torch.inference_mode():  # as in a trainer's test stage
        values = judge.results()
    assert values["ess"] == pytest.approx(1) and values["exact_ess"] == 1
    assert values["free_energy"] == pytest.approx(values["exact_free_energy"], abs=1e-6)
    assert values["log_z_deviation"] < 1e-5
    assert values["left_log_z_deviation"] == pytest.approx(0.1, abs=1e-5)
    error = 4 * law.std(target.log_prob(law.states)) / (0.3 * 9 * math.sqrt(16_000))
    assert abs(values["internal_energy"] - values["exact_internal_energy"]) < error
    identity = 0.3 * (values["internal_energy"] - values["free_energy"])
    assert values["entropy"] == pytest.approx(identity, abs=1e-9)
    shift = values["left_free_energy"] - values["free_energy"]
    assert shift == pytest.approx(0.1 / (0.3 * 9), abs=1e-9)
    assert abs(values["log_rmse"] - values["log_rmse_floor"]) < 1.5
    assert values["free_energy_std"] == pytest.approx(0, abs=1e-12)


def test_weights_of_systems_have_the_error_over_systems():
    """Weights within a system are equal: what they say of log Z is one number a system."""
    target = Ising(3, 0.3)
    estimates = torch.tensor([8.0, 8.4, 7.9, 8.2], dtype=torch.float64)
    judge = ThermodynamicsEvaluation(target)
    system = torch.arange(2).repeat_interleave(50)
    for part in estimates.split(2):
        states = torch.randint(2, (100, 9), generator=torch.Generator().manual_seed(0))
        judge.update(Draws(states, part[system], extras={SYSTEM: system}), {})
    values, expected = judge.results(), of_weights(estimates)
    for name in ("log_z", "log_z_error"):
        assert values[name] == pytest.approx(expected[name], rel=1e-9), name


def test_another_target_is_referred_to_an_evaluation_that_there_is():
    with pytest.raises(UserError, match="take evaluation=") as refused:
        ThermodynamicsEvaluation(Target(4, 2))
    name = str(refused.value).partition("take evaluation=")[2]
    assert (suite_root() / "conf" / "evaluation" / f"{name}.yaml").is_file()
