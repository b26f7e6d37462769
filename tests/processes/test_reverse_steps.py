"""Reverse rates and steps with the true score give back the marginals, or converge to them."""

import pytest
import torch

from finite_processes import both, clean_law
from jumpbench.processes.uniform import UniformProcess


@both
def test_reverse_rates_with_the_true_score_reproduce_the_marginals(process):
    """Two sites, correlated law: dp/ds = p R integrated back from t=2 to t=0.2 (RK4)."""
    n = process.n_states
    x = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    law0 = clean_law(process, seed=3)
    law0 = torch.outer(law0, law0) + 0.5 * torch.diag(law0)
    law0 = (law0 / law0.sum()).reshape(-1)

    def marginal(t):
        kernel = process.kernel(t)
        return law0 @ torch.kron(kernel, kernel)

    sites = torch.stack([x.clone() for _ in range(2 * n)], 1).reshape(-1, 2, n, 2)
    for site in range(2):
        sites[:, site, :, site] = torch.arange(n)
    neighbour = sites[..., 0] * n + sites[..., 1]  # (S, D, N) index of x with site := v

    def velocity(t, law):
        p_t = marginal(t)
        score = p_t[neighbour] / p_t.clamp(min=1e-300)[:, None, None]
        flow = law[:, None, None] * process.reverse_rates(x, score, 1.0)
        gain = torch.zeros_like(law).index_add_(0, neighbour.reshape(-1), flow.reshape(-1))
        return gain - flow.sum((-1, -2))

    law, steps = marginal(2.0), 400
    h = (2.0 - 0.2) / steps
    for k in range(steps):
        t = 2.0 - k * h
        k1 = velocity(t, law)
        k2 = velocity(t - h / 2, law + h / 2 * k1)
        k3 = velocity(t - h / 2, law + h / 2 * k2)
        k4 = velocity(t - h, law + h * k3)
        law = law + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    torch.testing.assert_close(law, marginal(0.2), rtol=0, atol=1e-8)


def reverse_kernel(process, prior, step, n_steps, start=2.0, end=0.0):
    """Law at noise ``end`` obtained by propagating the marginal at ``start`` exactly."""
    x = torch.arange(process.n_states)[:, None]
    law = prior @ process.kernel(start)
    width = (start - end) / n_steps
    for k in range(n_steps):
        noise = start - k * width
        p_t = prior @ process.kernel(noise)
        score = p_t[None, None, :] / p_t[:, None, None]
        law = law @ step(x, score, width)[:, 0]
    return law, prior @ process.kernel(end)


@both
@pytest.mark.parametrize("n_steps", [1, 3])
def test_analytic_step_is_exact_for_one_site(process, n_steps):
    law, expected = reverse_kernel(process, clean_law(process), process.analytic_step, n_steps)
    torch.testing.assert_close(law, expected, rtol=0, atol=1e-11)


@both
def test_analytic_step_equals_the_posterior_and_the_ancestral_step(process):
    s, t = 0.3, 1.2
    prior = clean_law(process)
    x = torch.arange(process.n_states)[:, None]
    p_s, p_t = prior @ process.kernel(s), prior @ process.kernel(t)
    score = (p_t / p_t[:, None])[:, None]
    expected = p_s[:, None] * process.kernel(t - s) / p_t
    step = process.analytic_step(x, score, t - s)
    torch.testing.assert_close(step[:, 0], expected.mT, rtol=0, atol=1e-11)
    clean = process.denoise(x, score, t)
    torch.testing.assert_close(
        clean[:, 0], (prior[:, None] * process.kernel(t) / p_t).mT, rtol=0, atol=1e-11
    )
    torch.testing.assert_close(process.ancestral_step(x, clean, s, t), step, rtol=0, atol=1e-11)


@both
def test_euler_error_halves_when_the_steps_double(process):
    def error(n_steps):
        def step(x, score, width):
            return process.euler_step(x, score, 1.0, width)

        law, expected = reverse_kernel(process, clean_law(process), step, n_steps, end=0.3)
        return (law - expected).abs().sum().item()

    assert error(400) > 1e-7
    assert error(200) / error(400) == pytest.approx(2.0, rel=0.03)


def test_euler_rows_without_room_to_stay_are_scaled_to_one():
    process = UniformProcess(3)
    score = torch.tensor([[[1.0, 30.0, 10.0]]])
    row = process.euler_step(torch.tensor([[0]]), score, 3.0, 1.0)[0, 0]
    torch.testing.assert_close(row, torch.tensor([0.0, 0.75, 0.25]))
