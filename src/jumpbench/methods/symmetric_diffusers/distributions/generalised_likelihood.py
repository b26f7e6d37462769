"""Log-likelihood of the generalised Plackett-Luce distribution, fused in blocks of rows."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from jumpbench.methods.symmetric_diffusers.distributions.base import exponentials_are_plain

# Elements of a work array on CPU: one megabyte of float32, which stays in the cache.
CPU_BLOCK = 2**18


def row_blocks(n: int, lists: int, device: torch.device) -> Iterator[tuple[int, int]]:
    """Ranges of rows of the score matrix, quarters of n or less, to be worked on together.

    Row i only needs the n - i columns that are left, so a block starting at row ``lo`` works on
    ``n - lo`` columns: with quarters, 5/8 of the full matrix.
    """
    rows = max(1, math.ceil(n / 4))
    if device.type == "cpu":
        rows = max(1, min(rows, CPU_BLOCK // max(1, lists * n)))
    for low in range(0, n, rows):
        yield low, min(n, low + rows)


def _remaining(scores: Tensor, sigma: Tensor, low: int, high: int) -> tuple[Tensor, Tensor]:
    """Rows ``low..high-1`` over the columns ``sigma(low..n-1)``; those left form the triangle."""
    columns = sigma[..., None, low:].expand(*sigma.shape[:-1], high - low, sigma.shape[-1] - low)
    return scores[..., low:high, :].gather(-1, columns), columns


def _mask_used(logits: Tensor) -> Tensor:
    used = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril_(-1)
    return logits.masked_fill_(used, -math.inf)


class _LogLikelihood(torch.autograd.Function):
    """Scores ``(*shape, n, n)`` and permutations ``(*shape, n)`` to ``(*shape)``.

    ``plain``: exponentials of the scores may be summed as they are.
    """

    @staticmethod
    def forward(ctx, scores: Tensor, sigma: Tensor, plain: bool) -> Tensor:
        ctx.save_for_backward(scores, sigma)
        ctx.plain = plain
        n = sigma.shape[-1]
        result = scores.new_zeros(sigma.shape[:-1])
        for low, high in row_blocks(n, result.numel(), scores.device):
            logits, _ = _remaining(scores, sigma, low, high)
            chosen = logits.diagonal(dim1=-2, dim2=-1).clone()
            if plain:
                log_p = chosen - logits.exp_().triu_().sum(-1).log_()
            else:
                log_p = _mask_used(logits).log_softmax(-1).diagonal(dim1=-2, dim2=-1)
                # A row whose remaining columns are all forbidden has no law: impossible, not nan.
                log_p = torch.where(chosen == -math.inf, -math.inf, log_p)
            result += log_p.sum(-1)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        scores, sigma = ctx.saved_tensors
        grad_scores = torch.zeros(scores.shape, dtype=scores.dtype, device=scores.device)
        for low, high in row_blocks(sigma.shape[-1], grad.numel(), scores.device):
            logits, columns = _remaining(scores, sigma, low, high)
            # d log p / d logits = onehot(chosen) - softmax, times the incoming gradient
            if ctx.plain:
                slope = logits.exp_().triu_()
                slope *= -grad[..., None, None] / slope.sum(-1, keepdim=True)
            else:
                slope = _mask_used(logits).softmax(-1) * -grad[..., None, None]
            slope.diagonal(dim1=-2, dim2=-1).add_(grad[..., None])
            grad_scores[..., low:high, :].scatter_(-1, columns, slope)
        return grad_scores, None, None


def generalised_log_likelihood(scores: Tensor, sigma: Tensor) -> Tensor:
    """``sum_i [S_{i,sigma(i)} - logsumexp_{j >= i} S_{i,sigma(j)}]``; leading axes broadcast.

    Row = output position, column = index in the current list. First-order gradients in the
    scores only.
    """
    shape = torch.broadcast_shapes(scores.shape[:-2], sigma.shape[:-1])
    n = scores.shape[-1]
    plain = exponentials_are_plain(scores)  # asked before several permutations share a matrix
    return _LogLikelihood.apply(scores.expand(*shape, n, n), sigma.expand(*shape, n), plain)
