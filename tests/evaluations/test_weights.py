"""Weights of particles that were resampled together: the error is that over their systems."""

import math

import pytest
import torch

from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.evaluations.normaliser import NormaliserEvaluation
from jumpbench.evaluations.own_numbers import OwnNumbersEvaluation
from jumpbench.evaluations.weights import joined, of_weights
from jumpbench.methods.unnormalised.annealing import AnnealedParticles
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.samplers.weights import log_normaliser
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising

TARGET = Ising(3, 0.6)
ESTIMATES = torch.tensor([0.1, -0.3, 0.4, 0.0], dtype=torch.float64)


def particles(estimates, size=8):
    """Draws of systems whose weights are all equal to their estimate of Z."""
    n = len(estimates)
    system = torch.arange(n, dtype=torch.float64)[:, None].expand(n, size).flatten()
    weights = estimates[:, None].expand(n, size).flatten()
    return Draws(torch.zeros(n * size, 9, dtype=torch.long), weights, extras={"system": system})


@pytest.mark.parametrize(
    "evaluation", [OwnNumbersEvaluation, TargetEvaluation, NormaliserEvaluation]
)
@pytest.mark.parametrize("parts", [(4,), (2, 2), (1, 3)])
def test_the_error_is_that_over_systems_however_they_came(evaluation, parts):
    judge = evaluation(TARGET)
    for part in ESTIMATES.split(parts):
        judge.update(particles(part), {})
    values = judge.results()
    log_z, error = log_normaliser(ESTIMATES)
    assert values["log_z"] == pytest.approx(float(log_z))
    assert values["log_z_error"] == pytest.approx(float(error)) and error > 0.1
    assert "system" not in values


def test_systems_are_numbered_on():
    draws = joined([particles(ESTIMATES[:2], 2), particles(ESTIMATES[2:], 2)])
    assert draws.extras["system"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_one_system_says_nothing_of_its_error():
    values = of_weights(torch.zeros(5), torch.zeros(5))
    assert values["log_z"] == 0 and math.isnan(values["log_z_error"])
    assert of_weights(torch.zeros(5))["log_z_error"] == 0  # five independent equal weights


def test_log_z_of_smc_lies_within_its_errors():
    """Sixteen systems, twelve runs: |z| above 4 has chance 1e-3 of Student's t with 15 degrees."""
    exact = enumerate_law(TARGET).log_z
    z = []
    for seed in range(12):
        method = AnnealedParticles(
            TARGET, SystematicGibbs(), particles=64, resample_below=0.5, seed=seed
        )
        judge = TargetEvaluation(TARGET)
        judge.update(method.sample(1024), {})
        values = judge.results()
        z.append((values["log_z"] - exact) / values["log_z_error"])
    assert max(map(abs, z)) < 4
    assert torch.tensor(z).square().mean() > 0.2  # nor are they many times too large
