"""Both processes against matrix exponentials, enumeration and Bayes' rule."""

import math

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from finite_processes import F64, TIGHT, both, clean_law, generator_matrix
from jumpbench.errors import UserError
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.uniform import UniformProcess
from oracles import generator


@both
@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.4, 3.0, 30.0])
def test_kernel_is_the_matrix_exponential(process, noise):
    kernel = process.kernel(noise)
    expected = torch.matrix_exp(noise * generator_matrix(process))
    torch.testing.assert_close(kernel, expected, **TIGHT)
    torch.testing.assert_close(kernel.sum(-1), torch.ones(process.n_states, dtype=F64), **TIGHT)


@both
def test_rates_are_the_generator_off_its_diagonal(process):
    states = torch.arange(process.n_states)
    expected = generator_matrix(process)
    expected.fill_diagonal_(0)
    torch.testing.assert_close(process.rates(states, 0.3, F64), 0.3 * expected, **TIGHT)


@both
def test_semigroup_batched_noise_and_infinite_noise(process):
    a = torch.tensor([0.01, 0.5, 2.0], dtype=F64)
    b = torch.tensor([1.0, 1e-4, math.inf], dtype=F64)
    product = process.kernel(a) @ process.kernel(b)
    torch.testing.assert_close(product, process.kernel(a + b), **TIGHT)
    limit = process.kernel(math.inf)
    torch.testing.assert_close(limit, limit[:1].expand_as(limit), **TIGHT)


@both
def test_likelihood_is_the_transposed_transition(process):
    states = torch.arange(process.n_states)
    likelihood = process.likelihood(states, 0.7, F64)
    torch.testing.assert_close(likelihood.mT, process.transition(states, 0.7, F64), **TIGHT)


def test_log_transition_is_accurate_where_the_probability_is_tiny():
    process = UniformProcess(50)
    x = torch.tensor([[3]])
    logs = process.log_transition(x, torch.tensor([1e-7]))[0, 0]
    assert logs[0].item() == pytest.approx(math.log(1e-7 / 50), rel=1e-6)
    assert logs[3].item() == pytest.approx(-49e-7 / 50, rel=1e-6)


@both
def test_bridge_summed_over_its_end_is_the_kernel(process):
    n, before, after = process.n_states, 0.3, 1.1
    x0, x1 = (grid.reshape(-1, 1) for grid in torch.meshgrid(*2 * [torch.arange(n)], indexing="ij"))
    bridge = process.bridge(x0, x1, before, after, F64).reshape(n, n, n).nan_to_num()
    whole = process.kernel(before + after)
    total = torch.einsum("abn,ab->an", bridge, whole)
    torch.testing.assert_close(total, process.kernel(before), **TIGHT)


@both
def test_bridge_and_posterior_are_bayes_rule(process):
    n, s, t = process.n_states, 0.2, 0.9
    early, late, whole = process.kernel(s), process.kernel(t - s), process.kernel(t)
    for x0 in range(n - 1):
        for xt in range(n):
            if whole[x0, xt] == 0:
                continue
            expected = early[x0] * late[:, xt] / whole[x0, xt]
            got = process.posterior(torch.tensor([xt]), torch.tensor([x0]), s, t, F64)[0]
            torch.testing.assert_close(got, expected, **TIGHT)


def test_bridge_with_a_memoryless_start_depends_on_the_end_only():
    process = UniformProcess(3)
    x1 = torch.tensor([[0, 2]])
    bridge = process.bridge(torch.tensor([[1, 2]]), x1, math.inf, 0.5, F64)
    torch.testing.assert_close(bridge, process.transition(x1, 0.5, F64), **TIGHT)


@both
def test_score_of_a_product_law_is_the_ratio_of_its_marginals(process):
    """The true x_0 | x_t by Bayes gives s = p_t(v)/p_t(x)."""
    noise, n = 0.6, process.n_states
    prior = clean_law(process)
    marginal = prior @ process.kernel(noise)
    x = torch.arange(n)[:, None]
    clean = prior * process.likelihood(x, noise, F64)[:, 0]
    clean = (clean / clean.sum(-1, keepdim=True))[:, None]
    score = process.score(x, clean, noise)[:, 0]
    expected = marginal / marginal[:, None]
    if isinstance(process, MaskedProcess):  # symbol to other symbol: never jumps, not represented
        for u in range(n - 1):
            assert score[u, u].item() == pytest.approx(1.0, abs=1e-12)
        score, expected = score[-1], expected[-1]
    torch.testing.assert_close(score, expected, rtol=0, atol=1e-10)


@both
@pytest.mark.parametrize("noise", [0.05, 1.5])
def test_samples_follow_the_kernel(process, noise):
    """Every cell within 5 standard errors, 40000 draws per start (fixed seed)."""
    n, draws = process.n_states, 40_000
    x = torch.arange(n).expand(draws, n)
    after = process.sample(x, torch.full((draws,), noise), generator(1))
    counts = torch.nn.functional.one_hot(after, n).double().mean(0)
    kernel = process.kernel(noise)
    spread = (kernel * (1 - kernel) / draws).sqrt()
    assert ((counts - kernel).abs() <= 5 * spread + 1e-12).all()


def test_bridge_samples_follow_the_bridge():
    process, draws = UniformProcess(3), 40_000
    x0, x1 = torch.tensor([0, 0]).expand(draws, 2), torch.tensor([0, 2]).expand(draws, 2)
    middle = process.sample_bridge(x0, x1, 0.4, 0.8, generator(2))
    expected = process.bridge(x0[:1], x1[:1], 0.4, 0.8, F64)[0]
    counts = torch.nn.functional.one_hot(middle, 3).double().mean(0)
    assert ((counts - expected).abs() <= 5 * (expected * (1 - expected) / draws).sqrt()).all()


def test_limit_laws():
    assert (MaskedProcess(4).sample_limit(3, 2) == 4).all()
    x = UniformProcess(4).sample_limit(10_000, generator=generator())
    counts = torch.bincount(x, minlength=4).double() / 10_000
    assert ((counts - 0.25).abs() < 5 * math.sqrt(0.25 * 0.75 / 10_000)).all()


def test_single_precision_stays_single():
    process, x = UniformProcess(4), torch.zeros(2, 3, dtype=torch.long)
    score = torch.ones(2, 3, 4)
    for probs in (
        process.transition(x, 0.3),
        process.log_transition(x, 0.3),
        process.bridge(x, x, 0.1, torch.tensor(0.2, dtype=F64)),
        process.analytic_step(x, score, 0.3),
        process.euler_step(x, score, 1.0, torch.tensor(0.1, dtype=F64)),
    ):
        assert probs.dtype == torch.float32
        assert probs.shape == (2, 3, 4)


@pytest.mark.parametrize("make", [lambda: UniformProcess(1), lambda: MaskedProcess(0)])
def test_bad_sizes_are_refused(make):
    with pytest.raises(ValueError, match="needs at least"):
        make()


@both
@pytest.mark.parametrize("noise", [0.3, torch.tensor([0.1, 0.2])], ids=["number", "batch"])
def test_numbers_and_batches_of_noise_work_on_another_device(process, noise):
    """On fake tensors: devices must match and no value may be asked for."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        noise = noise.to("cuda") if isinstance(noise, torch.Tensor) else noise
        x = torch.zeros(2, 3, dtype=torch.uint8, device="cuda")
        score = torch.ones(2, 3, process.n_states, device="cuda")
        for probs in (
            process.transition(x, noise),
            process.bridge(x, x, noise, 2 * noise),
            process.rates(x, noise),
            process.analytic_step(x, score, noise),
            process.euler_step(x, score, noise, 0.1),
            process.ancestral_step(x, score, noise, 2 * noise),
            process.score(x, score, noise),
        ):
            assert probs.shape == score.shape
            assert probs.device.type == "cuda"
            assert probs.dtype == torch.float32
        for sample in (process.sample(x, noise), process.sample_bridge(x, x, noise, noise)):
            assert sample.dtype == torch.uint8
        assert process.sample_limit(2, 3, device="cuda").device.type == "cuda"


@pytest.mark.parametrize("noise", [0.1, 5.0, 9.0, 13.0, 17.0, 20.0, 88.0, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, F64], ids=["single", "double"])
def test_clean_law_from_an_exact_score_at_any_noise(noise, dtype):
    """Total variation from Bayes' rule; where single precision knows nothing, a uniform law.

    A float32 score near 1 resolves 1.2e-7, and tells a law apart by e^-noise: up to noise 13 the
    law is right to 2 percent, beyond 16 nothing of it is left in the score.
    """
    process = UniformProcess(4)
    law = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=F64)
    marginal = process.propagate(law[None], torch.tensor(noise, dtype=F64))[0]
    x = torch.arange(4)[:, None]
    clean = process.denoise(x, (marginal / marginal[:, None])[:, None].to(dtype), noise)[:, 0]
    torch.testing.assert_close(clean.sum(-1), torch.ones(4, dtype=dtype))
    exact = (law[:, None] * process.kernel(torch.tensor(noise, dtype=F64)) / marginal).mT
    tv = float((clean - exact).abs().sum(-1).max() / 2)
    known_to = 13 if dtype == torch.float32 else 30
    assert tv < (0.02 if noise <= known_to else 0.4)


def test_half_precision_scores_give_single_precision_laws():
    """bfloat16 sums of 64 ratios are off by a percent; their uniforms have 256 values."""
    process = UniformProcess(64)
    x = torch.zeros(2, 3, dtype=torch.long)
    score = torch.full((2, 3, 64), 1.0, dtype=torch.bfloat16)
    for law in (
        process.denoise(x, score, 1.0),
        process.analytic_step(x, score, 0.5),
        process.euler_step(x, score, 1.0, 0.01),
        process.score(x, score / 64, 1.0),
        process.ancestral_step(x, score / 64, 0.5, 1.0),
        process.reverse_rates(x, score, 1.0),
        MaskedProcess(63).denoise(x + 63, score, 1.0),
        MaskedProcess(63).analytic_step(x + 63, score, 1.0),
    ):
        assert law.dtype == torch.float32
    expected = process.denoise(x, score.float(), 1.0)
    torch.testing.assert_close(process.denoise(x, score, 1.0), expected, rtol=1e-6, atol=0)


def test_states_that_cannot_hold_the_mask_are_refused():
    process, x = MaskedProcess(256), torch.zeros(4, 3, dtype=torch.uint8)
    for sample in (lambda: process.sample(x, 1.0), lambda: process.sample_bridge(x, x, 1.0, 1.0)):
        with pytest.raises(UserError, match=r"uint8 cannot hold 257 symbols: give .* torch.long"):
            sample()
    assert (process.sample(x.long(), 50.0) == 256).all()
