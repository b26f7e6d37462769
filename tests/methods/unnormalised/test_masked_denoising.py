"""The loss of MDNS against enumeration."""

import itertools

import torch

from jumpbench.methods.unnormalised.masked_denoising import denoising_loss
from oracles import LENGTH, N, Table, TabularLogits, all_states, true_conditionals


def test_loss_is_stationary_at_the_true_conditionals():
    """All 27 states with their weights, 4000 maskings each: gradient within noise of zero.

    The size to compare with is the gradient at a perturbed table under the same maskings.
    """
    target = Table()
    x, weights = all_states(N, LENGTH), 27 * target.table.softmax(0).float()
    logits = true_conditionals(target)

    def gradient():
        logits.zero_grad()
        denoising_loss(logits, x, weights, 4000, N, torch.Generator().manual_seed(4)).backward()
        return logits.table.grad.norm()

    at_truth = gradient()
    with torch.no_grad():
        logits.table += 0.5 * torch.randn(
            logits.table.shape, generator=torch.Generator().manual_seed(5)
        )
    assert at_truth < 0.1 * gradient()


def test_loss_is_the_sequence_cross_entropy():
    """E over masks of 1/lambda sum of masked surprises = E over orders of the chain's surprise.

    Exact in the limit of the smallest mask rate; 27 * 20000 maskings, 2 percent.
    """
    target, logits = Table(), TabularLogits(scale=0.5)
    x, weights = all_states(N, LENGTH), 27 * target.table.softmax(0).float()
    orders = list(itertools.permutations(range(LENGTH)))
    surprise = 0.0
    for order in orders:
        visible = torch.full_like(x, N)
        for site in order:
            law = logits(visible)[:, site].log_softmax(-1)
            surprise -= (weights * law.gather(-1, x[:, site, None])[:, 0]).mean() / len(orders)
            visible[:, site] = x[:, site]
    loss = denoising_loss(logits, x, weights, 20_000, N, torch.Generator().manual_seed(6))
    assert abs(loss * LENGTH / surprise - 1) < 0.02
