"""SGDD's noise, score entropy, reverse steps, measurements and masks against its release.

Weights of reverse steps are stored as the released code has them before it draws: not normalised,
and negative where a symbol is never drawn.
"""

import pytest
import torch

from jumpbench.methods.sgdd.likelihoods import InverseProblem, squared
from jumpbench.methods.sgdd.pair_likelihood import random_pairs
from jumpbench.methods.sgdd.problems.grid import MeanReading
from jumpbench.methods.sgdd.problems.infill import box_mask, random_mask
from jumpbench.methods.sgdd.schedule import endpoint_times
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import Geometric, LogLinear
from jumpbench.processes.score_entropy import denoising_score_entropy
from jumpbench.processes.uniform import UniformProcess
from parity.arrays import agree, arrays

SCHEDULES = {"geometric": Geometric(1e-4, 20.0), "loglinear": LogLinear(1e-3)}
PROCESSES = {"uniform2": UniformProcess(2), "uniform5": UniformProcess(5)}
PROCESSES["absorb4"] = MaskedProcess(4)
REMOVED = (1e-3, 0.1, 1.0, 6.0)
DT = (0.01, 0.05, 0.5)

each_process = pytest.mark.parametrize("name", PROCESSES)
each_uniform = pytest.mark.parametrize("name", ["uniform2", "uniform5"])


def law(weights):
    weights = weights.clamp(min=0)
    return weights / weights.sum(-1, keepdim=True)


def score_of(stored):
    """The absorbing process has scores of its own: only some are those of a masked model."""
    return stored["score"] if "score" in stored else stored["log_score"].exp()


@pytest.mark.parametrize("name", SCHEDULES)
def test_noise(name):
    stored = arrays("sgdd", "noise.")
    t, schedule = stored["t"], SCHEDULES[name]
    agree(schedule.total(t), stored[f"{name}.total"], 0, relative=1e-6)
    agree(schedule.rate(t), stored[f"{name}.rate"], 0, relative=1e-6)


@pytest.mark.parametrize("iterations", [10, 50])
def test_annealing(iterations):
    stored = arrays("sgdd", f"annealing.{iterations}.")
    times = torch.tensor(endpoint_times(iterations), dtype=torch.float64)
    agree(times, stored["times"].double(), 5e-7)
    # sigma grows by a factor of 2e5 over [0, 1]: their rounded times count twelvefold.
    agree(SCHEDULES["geometric"].total(times), stored["eta"].double(), 0, relative=3e-6)


@each_process
def test_score_entropy(name):
    stored = arrays("sgdd", f"{name}.")
    ours = denoising_score_entropy(
        PROCESSES[name], stored["log_score"], stored["x0"], stored["x"], stored["noise"],
        stored["rate"],
    )  # fmt: skip
    assert stored["entropy"].max() > 1e4
    tolerance = 1e-11 if stored["entropy"].dtype == torch.float64 else 1e-6
    agree(ours, stored["entropy"], 1e-6, relative=tolerance)


@each_uniform
def test_law_of_the_forward_process(name):
    stored = arrays("sgdd", f"{name}.")
    agree(PROCESSES[name].transition(stored["x0"], stored["noise"]), stored["transition"], 1e-14)


@each_process
def test_analytic_steps(name):
    stored, process = arrays("sgdd", f"{name}."), PROCESSES[name]
    tolerance, steps = (1e-6, 3) if name == "absorb4" else (1e-13, 4)
    for i, removed in enumerate(REMOVED[:steps]):
        ours = process.analytic_step(stored["x"], score_of(stored), removed)
        agree(ours, law(stored[f"analytic.{i}"]), tolerance)


@each_process
def test_euler_steps(name):
    """The released code takes its rates in float32 also where the rest is float64."""
    stored, process = arrays("sgdd", f"{name}."), PROCESSES[name]
    tolerance, steps = (1e-6, 2) if name == "absorb4" else (1e-7, 3)
    for i, dt in enumerate(DT[:steps]):
        ours = process.euler_step(stored["x"], score_of(stored), stored["rate"], dt)
        agree(ours, law(stored[f"euler.{i}"]), tolerance)


def test_pairs_and_masks_are_the_released_draws():
    """Also a test that torch's generator on a CPU has not changed."""
    stored = arrays("sgdd")
    assert torch.equal(random_pairs(1024, 0.5), stored["pairs.xor"])
    assert torch.equal(random_pairs(1024, 4), stored["pairs.and"])
    assert torch.equal(random_mask(256, 0.6).long(), stored["mask.pianoroll"])
    assert torch.equal(box_mask(32, (5, 19), (5, 24)).long(), stored["mask.box"])


def test_likelihood_of_the_synthetic_grid():
    """Mean over sites of (|x - 24.5| - 8.5)^2 / 9, from the operator and from a table of sites."""
    stored = arrays("sgdd", "grid.")
    operator = InverseProblem(lambda x: (x - 24.5).abs(), stored["observed"], squared, 6 * 9.0)
    for likelihood in (operator, MeanReading(6).likelihood()):
        ours = likelihood.log_likelihood(stored["x"])
        agree(ours, stored["log_likelihood"].double(), 5e-6)
