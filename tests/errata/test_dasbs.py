"""Errors in print, DASBS: the printed form fails where the right one holds."""

import torch

from jumpbench.methods.dasbs.losses import bregman

SYMBOLS = 3


def test_the_corrector_loss_leaves_out_the_symbol_of_the_end():
    """Equation 23 sums over the symbols that differ from x, but predicts ratios around x_1. A
    prediction that is right wherever it is read has no loss in the right form; in the printed one
    the ratio of x_1 with itself, which no network learns, adds to it."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(SYMBOLS, (64, 5), generator=generator)
    x_1 = (x + 1) % SYMBOLS  # the end differs from x everywhere
    truth = torch.randn(64, 5, SYMBOLS, generator=generator)
    predicted = truth.clone()
    predicted.scatter_(-1, x_1.unsqueeze(-1), 7.0)  # is never trained
    assert bregman(truth, predicted, x_1).abs().max() < 1e-6
    assert bregman(truth, predicted, x).min() > 1
