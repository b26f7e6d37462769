"""Score entropy: sign, zero, minimiser, and the denoising form against the explicit marginal."""

import torch

from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.score_entropy import denoising_score_entropy, score_entropy
from jumpbench.processes.uniform import UniformProcess


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def test_formula_sign_and_zero():
    log_score, ratio = draw(1000), draw(1000, seed=1).exp()
    loss = score_entropy(log_score, ratio)
    expected = log_score.exp() - ratio * log_score + ratio * (ratio.log() - 1)
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=1e-12)
    assert (loss >= 0).all() and loss.min() > 0
    assert (score_entropy(ratio.log(), ratio) == 0).all()
    assert (score_entropy(ratio.float().log(), ratio.float()) == 0).all()


def test_impossible_ratio():
    log_score = draw(5).requires_grad_()
    loss = score_entropy(log_score, torch.zeros(5, dtype=torch.float64))
    torch.testing.assert_close(loss, log_score.exp())
    (gradient,) = torch.autograd.grad(loss.sum(), log_score)
    torch.testing.assert_close(gradient, log_score.exp())


def test_minimiser_is_the_mean_ratio():
    ratio, probability = draw(6).exp(), draw(6, seed=2).softmax(0)
    mean = (probability * ratio).sum()
    log_score = mean.log().clone().requires_grad_()
    loss = (probability * score_entropy(log_score, ratio)).sum()
    (gradient,) = torch.autograd.grad(loss, log_score, create_graph=True)
    assert abs(gradient.item()) < 1e-12
    for shift in (-0.1, 0.1):
        assert (probability * score_entropy(mean.log() + shift, ratio)).sum() > loss


def test_denoising_form_is_minimised_by_the_marginal_score():
    # all of {0..3}^2 enumerated: x_0 ~ p0, x_t ~ kernel; gradient at the true marginal score is 0
    n, noise, rate = 4, torch.tensor(0.7, dtype=torch.float64), torch.tensor(1.3).double()
    process = UniformProcess(n)
    kernel = process.kernel(noise)
    p0 = draw(n, n).flatten().softmax(0).view(n, n)
    pt = kernel.T @ p0 @ kernel
    states = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    x0 = states.repeat_interleave(n * n, 0)
    xt = states.repeat(n * n, 1)
    a, b = x0.T
    c, d = xt.T
    joint = p0[a, b] * kernel[a, c] * kernel[b, d]
    true = torch.stack([pt[:, states[:, 1]].T, pt[states[:, 0], :]], dim=1)
    true = (true / pt[states[:, 0], states[:, 1]][:, None, None]).log()  # (n^2, 2, n)

    def loss(log_score):
        each = denoising_score_entropy(process, log_score.repeat(n * n, 1, 1), x0, xt, noise, rate)
        return (joint * each).sum()

    point = true.clone().requires_grad_()
    value = loss(point)
    (gradient,) = torch.autograd.grad(value, point)
    assert gradient.abs().max() < 1e-12
    for seed in range(3):
        moved = loss(true + 0.1 * draw(n * n, 2, n, seed=seed))
        assert moved > value > 0
    # weights: rate / N at every other symbol, none at the current one
    other = torch.nn.functional.one_hot(xt, n) == 0
    ratio = kernel[x0] / kernel[x0].gather(-1, xt[..., None])
    plain = (rate / n * score_entropy(true.repeat(n * n, 1, 1), ratio) * other).sum((1, 2))
    torch.testing.assert_close(value, (joint * plain).sum(), rtol=1e-10, atol=0)


def test_a_masked_site_is_weighted_by_the_rate_into_the_mask_and_a_symbol_not_at_all():
    """The weight of a change from x_t to v is the forward rate from v to x_t, not the one back.

    Masks are reached from every symbol at rate sigma', symbols from nothing; the kernel of the
    uniform process cannot tell the two directions apart.
    """
    process, rate = MaskedProcess(3), 1.3
    noise = torch.tensor(0.7, dtype=torch.float64)
    x0, xt = torch.tensor([[2, 1]]), torch.tensor([[3, 1]])
    log_score = draw(1, 2, 4)
    keep, lose = torch.exp(-noise), -torch.expm1(-noise)
    ratio = torch.tensor([0.0, 0.0, keep / lose], dtype=torch.float64)  # p(v | x_0) / p(mask | x_0)
    expected = rate * score_entropy(log_score[0, 0, :3], ratio).sum()
    value = denoising_score_entropy(process, log_score, x0, xt, noise, torch.tensor(rate))
    torch.testing.assert_close(value, expected[None], rtol=1e-7, atol=0)
