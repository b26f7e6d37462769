"""Sinkhorn normalisation against its defining properties."""

import torch

from jumpbench.networks.sinkhorn import gumbel_sinkhorn, log_sinkhorn


def test_result_is_doubly_stochastic():
    log_alpha = 3 * torch.randn(5, 6, 6, generator=torch.Generator().manual_seed(0)).double()
    result = log_sinkhorn(log_alpha, rounds=1000).exp()
    ones = torch.ones(5, 6, dtype=torch.float64)
    torch.testing.assert_close(result.sum(-2), ones, rtol=0, atol=1e-12)
    torch.testing.assert_close(result.sum(-1), ones, rtol=0, atol=1e-6)
    after_20 = log_sinkhorn(log_alpha).exp()
    torch.testing.assert_close(after_20.sum(-2), ones, rtol=0, atol=1e-12)
    assert (after_20.sum(-1) - 1).abs().max() < 0.05


def test_two_by_two_closed_form():
    # scaling rows and columns keeps the cross ratio a d / (b c) = p^2 / (1 - p)^2
    log_alpha = torch.tensor([[0.3, -1.0], [0.7, 2.0]], dtype=torch.float64)
    cross = log_alpha[0, 0] + log_alpha[1, 1] - log_alpha[0, 1] - log_alpha[1, 0]
    p = torch.sigmoid(cross / 2)
    expected = torch.stack([torch.stack([p, 1 - p]), torch.stack([1 - p, p])])
    torch.testing.assert_close(log_sinkhorn(log_alpha, 200).exp(), expected, rtol=0, atol=1e-10)


def test_row_and_column_offsets_do_not_matter():
    generator = torch.Generator().manual_seed(1)
    log_alpha = torch.randn(4, 4, generator=generator).double()
    rows, columns = (torch.randn(shape, generator=generator) for shape in ((4, 1), (1, 4)))
    shifted = log_alpha + rows + columns
    torch.testing.assert_close(
        log_sinkhorn(log_alpha, 300), log_sinkhorn(shifted, 300), rtol=0, atol=1e-8
    )


def test_low_temperature_samples_follow_the_gumbel_matching_law():
    # n = 2: identity wins if s_11 + s_22 + (two Gumbels) > s_12 + s_21 + (two Gumbels); by
    # symmetry 1/2 at equal scores, and the sample is then close to a permutation matrix
    samples = gumbel_sinkhorn(
        torch.zeros(2, 2), 1e-2, 20000, torch.Generator().manual_seed(0), rounds=50
    )
    near = (samples - samples.round()).abs().amax((1, 2)) < 0.05
    assert near.float().mean() > 0.95
    identity = (samples[:, 0, 0] > 0.5).double().mean()
    assert abs(identity - 0.5) < 4 * 0.5 / 20000**0.5  # z = 4
    assert samples.shape == (20000, 2, 2)


def test_gradients_reach_the_scores():
    log_alpha = torch.zeros(3, 3, requires_grad=True)
    sample = gumbel_sinkhorn(log_alpha, 1.0, 4, torch.Generator().manual_seed(0))
    sample[:, 0, 1].sum().backward()
    assert log_alpha.grad.isfinite().all() and (log_alpha.grad != 0).all()
