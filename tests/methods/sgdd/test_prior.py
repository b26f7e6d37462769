"""Scores, reverse steps and their composition, against Bayes' rule (spec 12, items 1 to 4, 8)."""

from itertools import pairwise

import pytest
import torch

from jumpbench.methods.sgdd.prior import (
    CLEAN,
    ScorePrior,
    Stepper,
    analytic,
    clean_grid,
    euler,
)
from jumpbench.methods.sgdd.product_prior import ProductPrior
from jumpbench.processes.uniform import UniformProcess

LAW = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)


def kernel(prior, t):
    """P(x_t | x_0), row = x_0, written out."""
    sigma = prior.schedule.total(t)
    n = prior.n_states
    eye, ones = torch.eye(n, dtype=torch.float64), torch.ones(n, n, dtype=torch.float64)
    return torch.exp(-sigma) * eye + (1 - torch.exp(-sigma)) / n * ones


def posterior(prior, t):
    """p(x_0 | x_t), row = x_t, by Bayes' rule."""
    joint = prior.law[:, None] * kernel(prior, t)
    return (joint / joint.sum(0)).T


def test_score_is_the_ratio_of_noisy_marginals():
    prior = ProductPrior(LAW, 3)
    marginal = LAW @ kernel(prior, 0.7)
    x = torch.tensor([[0, 3, 2]])
    expected = marginal / marginal[x][..., None]
    torch.testing.assert_close(prior.score(x, 0.7), expected)


def test_score_is_the_posterior_mean_of_kernel_ratios():
    """s(x, t)[v] = E over p(x_0 | x_t = x) of P(v | x_0) / P(x | x_0)."""
    prior = ProductPrior(LAW, 1)
    noisy, clean = kernel(prior, 0.6), posterior(prior, 0.6)
    for x in range(4):
        expected = (clean[x][:, None] * noisy / noisy[:, x : x + 1]).sum(0)
        torch.testing.assert_close(prior.score(torch.tensor([[x]]), 0.6)[0, 0], expected)


@pytest.mark.parametrize("n_steps", [0, 1, 7])
@pytest.mark.parametrize("t", [1.0, 0.5, 0.1, CLEAN])
def test_analytic_steps_compose_to_the_exact_posterior(t, n_steps):
    prior = ProductPrior(LAW, 2, reverse_step=analytic)
    matrix = prior.clean_matrix(clean_grid(t, n_steps))
    # At sigma = 20 the score holds what is left of x_0 in its last digits: e^20 x 2e-16 = 1e-7.
    rounding = float(prior.schedule.total(t).exp()) * 1e-15
    torch.testing.assert_close(matrix, posterior(prior, t), atol=1e-12 + rounding, rtol=0)


def test_euler_steps_converge_to_the_exact_posterior():
    prior = ProductPrior(LAW, 2, reverse_step=euler)
    errors = []
    for n_steps in (20, 200, 2000):
        matrix = prior.clean_matrix(clean_grid(0.9, n_steps))
        torch.testing.assert_close(matrix.sum(-1), torch.ones(4, dtype=torch.float64))
        errors.append((matrix - posterior(prior, 0.9)).abs().max())
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[2] < 2e-3


def test_euler_row_is_the_printed_one_with_its_clamp():
    prior = ProductPrior(LAW, 2, reverse_step=euler)
    t, s = 1.0, 0.95
    marginal = LAW @ kernel(prior, t)
    rate = (t - s) * 20 * torch.log(torch.tensor(2e5, dtype=torch.float64)) / 4
    weights = rate * marginal[None, :] / marginal[:, None]
    weights.fill_diagonal_(0)
    stay = (1 - weights.sum(-1)).clamp(min=0)
    assert (stay == 0).any()  # the clamp is in force here
    expected = weights + torch.diag(stay)
    torch.testing.assert_close(
        prior.step_matrix(t, s), expected / expected.sum(-1, keepdim=True), atol=1e-7, rtol=1e-6
    )


@pytest.mark.parametrize("reverse_step", [euler, analytic])
def test_one_composed_draw_has_the_law_of_stepping(reverse_step, space, generator):
    """Composed matrix = product of the single steps' matrices = law of the generic sampler."""
    prior = ProductPrior(LAW, 2, reverse_step=reverse_step)
    [composed] = prior.denoisers([0.8], 4)
    times = clean_grid(0.8, 4)
    assert times[0] == 0.8 and times[-1] == CLEAN and len(times) == 5
    assert composed.network_calls == 5
    product = torch.eye(4, dtype=torch.float64)
    symbols = torch.arange(4)[:, None]
    for t, s in pairwise(times):
        product = product @ prior.step_probabilities(symbols, t, s)[:, 0]
    product = product @ prior.clean_probabilities(symbols, CLEAN)[:, 0]
    torch.testing.assert_close(composed.matrix, product, atol=1e-13, rtol=0)

    generic = ScorePrior(prior.score, UniformProcess(4), 2, reverse_step=reverse_step)
    [stepper] = generic.denoisers([0.8], 4)
    assert isinstance(stepper, Stepper) and stepper.network_calls == 5
    all_states = space(4, 2)
    start = torch.tensor([3, 0]).expand(100_000, 2)
    law = all_states.site_law(product[[3, 0]])
    all_states.assert_law(stepper(start, generator), law)
    all_states.assert_law(composed(start, generator), law)


def test_reverse_steps_are_single_steps(space, generator):
    prior = ProductPrior(LAW, 2)
    times = [0.9, 0.6, 0.4]
    moves = prior.reverse_steps(times)
    generic = ScorePrior(prior.score, UniformProcess(4), 2).reverse_steps(times)
    assert [m.network_calls for m in moves] == [m.network_calls for m in generic] == [1, 1]
    all_states = space(4, 2)
    start = torch.tensor([1, 2]).expand(100_000, 2)
    law = all_states.site_law(prior.step_matrix(0.6, 0.4)[[1, 2]])
    all_states.assert_law(moves[1](start, generator), law)
    all_states.assert_law(generic[1](start, generator), law)


def test_prior_step_of_a_flat_prior_is_the_forward_kernel():
    prior = ProductPrior(torch.ones(5), 2, reverse_step=analytic)
    assert torch.equal(prior.score(torch.zeros(1, 2), 0.5), torch.ones(1, 2, 5).double())
    for n_steps in (0, 6):
        matrix = prior.clean_matrix(clean_grid(0.9, n_steps))
        torch.testing.assert_close(matrix, kernel(prior, 0.9), atol=1e-12, rtol=1e-9)


def test_a_law_that_is_none_is_refused():
    with pytest.raises(ValueError, match="positive"):
        ProductPrior([0.5, 0.0, 0.5], 2)
