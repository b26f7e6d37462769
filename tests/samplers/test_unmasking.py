"""The unmasking chain and the weights made of it, against enumeration."""

import itertools

import torch
from scipy.stats import chi2

from jumpbench.samplers.unmasking import unmask
from oracles import LENGTH, POWERS, N, Table, TabularLogits, all_states, true_conditionals


def law_of_chain(logits):
    """Exact law over complete states: mean over all orders of the product of conditionals."""
    x = all_states(N, LENGTH)
    orders = list(itertools.permutations(range(LENGTH)))
    total = torch.zeros(len(x))
    for order in orders:
        visible = torch.full_like(x, N)
        log_q = torch.zeros(len(x))
        for site in order:
            law = logits(visible)[:, site].log_softmax(-1)
            log_q += law.gather(-1, x[:, site, None])[:, 0].detach()
            visible[:, site] = x[:, site]
        total += log_q.exp() / len(orders)
    return total


def test_samples_follow_the_chain_and_weights_average_to_z():
    """20000 chains: chi-square of all 27 states p > 1e-4; mean weight within 4 standard errors."""
    target, logits = Table(), TabularLogits(scale=0.7)
    x, log_q = unmask(logits, LENGTH, N, 20_000, torch.Generator().manual_seed(2))
    expected = 20_000 * law_of_chain(logits)
    seen = torch.bincount((x * POWERS).sum(-1), minlength=27)
    assert chi2.sf(float(((seen - expected) ** 2 / expected).sum()), 26) > 1e-4
    weights = (target.log_prob(x) - log_q).exp()
    z = target.table.exp().sum()
    assert abs(weights.mean() - z) < 4 * weights.std() / len(weights) ** 0.5
    assert weights.std() / z > 0.3, "equal weights would prove nothing"


def test_true_conditionals_give_constant_weights_equal_to_z():
    target = Table()
    x, log_q = unmask(true_conditionals(target), LENGTH, N, 200, torch.Generator().manual_seed(3))
    log_weights = target.log_prob(x) - log_q
    expected = target.table.logsumexp(0)
    torch.testing.assert_close(log_weights, expected.expand(200), atol=1e-5, rtol=1e-5)
