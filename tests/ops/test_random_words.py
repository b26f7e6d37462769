"""Bits are fair and independent; the logarithm of an exponential has its law, also near 0."""

import math

import torch
from scipy import stats

from jumpbench.ops.random_words import log_exponential, random_bits
from oracles import generator


def test_bits_are_fair_and_independent():
    """Every bit of a byte, and every pair of them, as coins: 5 standard errors."""
    n = 40_000
    bits = random_bits((n, 8), generator()).double()
    assert set(bits.unique().tolist()) == {0.0, 1.0}
    signs = 2 * bits - 1
    assert (signs.mean(0).abs() < 5 / math.sqrt(n)).all()
    products = signs.T @ signs / n
    assert (products.fill_diagonal_(0).abs() < 5 / math.sqrt(n)).all()
    assert random_bits((3, 7), generator()).shape == (3, 7)  # no whole number of words
    # In a row: a bit tells nothing of the next one.
    row = signs.flatten()
    assert (row[:-1] * row[1:]).mean().abs() < 5 / math.sqrt(8 * n)


def test_the_logarithm_of_an_exponential_variable():
    sample = log_exponential((200_001,), generator(1)).double()
    assert sample.isfinite().all()
    assert stats.kstest(sample.exp().numpy(), "expon").pvalue > 1e-3
    # The small ones, P(E < e) = 1 - exp(-e): a binomial count, 5 standard errors.
    for e in (1e-4, 1e-3):
        p = -math.expm1(-e)
        count = (sample < math.log(e)).sum().item()
        assert abs(count - p * len(sample)) < 5 * math.sqrt(p * len(sample))
    halves = sample[: 2 * (len(sample) // 2)].view(-1, 2)  # both numbers of one word
    assert abs(torch.corrcoef(halves.T)[0, 1]) < 5 / math.sqrt(len(halves))
