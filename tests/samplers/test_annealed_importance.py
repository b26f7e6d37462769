"""AIS and SMC against enumeration: unbiased weights, log Z within its error, the final law."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.samplers.annealed_importance import anneal, next_power, refined
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.samplers.weights import effective_sample_size, log_normaliser
from jumpbench.targets.enumeration import enumerate_law
from oracles import Ring, Table, generator

POWERS = torch.tensor([0.0, 0.2, 0.6, 1.0], dtype=torch.float64)
KERNELS = {"gibbs": SystematicGibbs(), "locally balanced": LocallyBalanced()}


@pytest.mark.parametrize("resample_below", [None, 0.999], ids=["AIS", "SMC"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_mean_weight_is_z(kernel, resample_below):
    """E[w] = Z at fixed powers, within 4 standard errors of the mean over independent systems."""
    target = Table()
    done = anneal(target, kernel, 4000, 16, generator(), POWERS, resample_below=resample_below)
    z = math.exp(enumerate_law(target).log_z)
    ratios = done.log_z().exp() / z
    assert abs(float(ratios.mean()) - 1) < 4 * float(ratios.std()) / len(ratios) ** 0.5
    assert float(ratios.std()) < 0.6
    assert (done.resampled > 0).all() if resample_below else not done.resampled.any()


def test_ais_without_a_move_is_importance_sampling():
    """With no step of the kernel a weight is that of the uniform start, whatever the powers."""
    target = Table()
    done = anneal(target, SystematicGibbs(), 1, 500, generator(), POWERS, steps=0)
    expected = target.log_prob(done.x[0]) + 3 * math.log(3)
    assert torch.allclose(done.log_weights[0], expected.double(), atol=1e-6)


@pytest.mark.parametrize("resample_below", [None, 0.5], ids=["AIS", "SMC"])
def test_log_z_is_within_its_error_and_the_weighted_law_is_the_target(resample_below):
    """At powers chosen by the effective sample size, refined and then fixed."""
    target, rng = Ring(), generator()
    chosen = anneal(target, SystematicGibbs(), 1, 2000, rng, share=0.8).powers
    done = anneal(
        target, SystematicGibbs(), 200, 100, rng, refined(chosen, 12),
        resample_below=resample_below,
    )  # fmt: skip
    law = enumerate_law(target)
    estimate, error = log_normaliser(done.log_z())
    assert abs(float(estimate) - law.log_z) < 4 * float(error) and float(error) < 0.02
    weights = done.log_weights.flatten().softmax(0)
    index = (done.x.flatten(0, 1) * 3 ** torch.arange(4, -1, -1)).sum(-1)
    found = torch.zeros_like(law.probs).index_add_(0, index, weights)
    n = float(effective_sample_size(done.log_weights.flatten())) * len(index)
    floor = float((2 / math.pi * law.probs * (1 - law.probs) / n).sqrt().sum()) / 2
    assert float((found - law.probs).abs().sum()) / 2 < 1.5 * floor


def test_the_next_power_keeps_the_share():
    rng = generator()
    gain, log_weights = (torch.randn(3000, dtype=torch.float64, generator=rng) for _ in range(2))
    start = torch.tensor(0.1, dtype=torch.float64)
    power = next_power(5 * gain, log_weights, start, 0.7)
    w, u = log_weights.softmax(0), (5 * (power - start) * gain).exp()
    assert float((w * u).sum() ** 2 / (w * u**2).sum()) == pytest.approx(0.7, abs=1e-6)
    assert next_power(1e-3 * gain, log_weights, start, 0.7) == 1
    equal = torch.zeros_like(gain)  # then it is the effective sample size itself
    power = next_power(5 * gain, equal, start, 0.6)
    assert effective_sample_size(5 * (power - start) * gain) == pytest.approx(0.6, abs=1e-6)


def test_finer_powers_are_dense_where_the_given_ones_are():
    given = torch.tensor([0.0, 0.1, 0.3, 1.0])
    assert torch.allclose(refined(given, 3), given.double())
    expected = torch.tensor([0.0, 0.05, 0.1, 0.2, 0.3, 0.65, 1.0], dtype=torch.float64)
    assert torch.allclose(refined(given, 6), expected, atol=1e-7)


def test_the_cost_and_the_refusals():
    target, rng = Ring(), generator()
    done = anneal(target, SystematicGibbs(), 2, 3, rng, POWERS, steps=2)
    assert done.x.shape == (2, 3, 5) and done.cost.energy_evaluations == 1 + 3 * 2 * 5 * 2
    assert done.cost.sequential_steps == 3 * 2 * 5 and done.acceptance == 1
    for powers in ([0.0, 0.5], [0.1, 1.0], [0.0, 0.6, 0.5, 1.0]):
        with pytest.raises(UserError, match="rise from 0 to 1"):
            anneal(target, SystematicGibbs(), 1, 3, rng, torch.tensor(powers))
    with pytest.raises(UserError, match="share"):
        anneal(target, SystematicGibbs(), 1, 3, rng, share=1.0)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_table_that_a_kernel_starts_with_counts(steps):
    """A locally balanced kernel knows the table of every state that it has been in: 1 + K steps."""
    done = anneal(Ring(), LocallyBalanced(), 2, 3, generator(), POWERS, steps=steps)
    assert done.cost.energy_evaluations == (1 + 3 * steps) * (1 + 5 * 2)
