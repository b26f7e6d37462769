"""Log-likelihood of the generalised Plackett-Luce distribution, fused in blocks of rows."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from jumpbench.methods.symmetric_diffusers.distributions.base import exponentials_are_plain

# Elements of a work array on CPU: one megabyte of float32, which stays in the cache.
CPU_BLOCK = 2**18


def row_blocks(n: int, lists: int, device: torch.device) -> Iterator[tuple[int, int]]:
    """Ranges of rows of the score matrix, eighths of n or less, to be worked on together.

    Row i only needs the n - i columns that are left, so a block starting at row ``lo`` works on
    ``n - lo`` columns: with eighths, 9/16 of the full matrix.
    """
    rows = max(1, math.ceil(n / 8))
    if device.type == "cpu":
        rows = max(1, min(rows, CPU_BLOCK // max(1, lists * n)))
    for low in range(0, n, rows):
        yield low, min(n, low + rows)


def _remaining(sigma: Tensor, low: int, high: int) -> Tensor:
    """Columns ``sigma(low..n-1)`` for rows ``low..high-1``; those left form the triangle."""
    return sigma[..., None, low:].expand(*sigma.shape[:-1], high - low, sigma.shape[-1] - low)


class _LogLikelihood(torch.autograd.Function):
    """Scores ``(*shape, n, n)`` and permutations ``(*shape, n)`` to ``(*shape)``.

    ``plain``: exponentials of the scores may be summed as they are. ``keep``: there will be a
    gradient, for which the law of every row over its remaining columns is kept; making it twice
    would cost more.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, sigma: Tensor, plain: bool, keep: bool) -> Tensor:
        n, laws = sigma.shape[-1], []
        chosen = scores.gather(-1, sigma.unsqueeze(-1)).squeeze(-1)
        result = scores.new_zeros(sigma.shape[:-1])
        ctx.blocks = list(row_blocks(n, result.numel(), scores.device))
        for low, high in ctx.blocks:
            logits = scores[..., low:high, :].gather(-1, _remaining(sigma, low, high))
            if plain:
                law = logits.exp_().triu_()
                total = law.sum(-1, keepdim=True)
                log_p = chosen[..., low:high] - total.squeeze(-1).log()
                law = law.div_(total) if keep else law
            else:
                used = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device)
                law = logits.masked_fill_(used.tril_(-1), -math.inf).log_softmax(-1)
                # A row whose remaining columns are all forbidden has no law: impossible, not nan.
                possible = chosen[..., low:high] != -math.inf  # True for NaN, which stays one
                log_p = law.diagonal(dim1=-2, dim2=-1).where(possible, -math.inf)
                law = law.exp() if keep else law
            result += log_p.sum(-1)
            if keep:
                laws.append(law)
        ctx.save_for_backward(sigma, *laws)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        sigma, *laws = ctx.saved_tensors
        n = sigma.shape[-1]
        grad_scores = torch.zeros((*sigma.shape, n), dtype=grad.dtype, device=grad.device)
        for (low, high), law in zip(ctx.blocks, laws, strict=True):
            # d log p / d logits = onehot(chosen) - law, times the incoming gradient
            slope = law * -grad[..., None, None]
            slope.diagonal(dim1=-2, dim2=-1).add_(grad[..., None])
            grad_scores[..., low:high, :].scatter_(-1, _remaining(sigma, low, high), slope)
        return grad_scores, None, None, None


def generalised_log_likelihood(scores: Tensor, sigma: Tensor) -> Tensor:
    """``sum_i [S_{i,sigma(i)} - logsumexp_{j >= i} S_{i,sigma(j)}]``; leading axes broadcast.

    Row = output position, column = index in the current list. First-order gradients in the
    scores only.
    """
    shape = torch.broadcast_shapes(scores.shape[:-2], sigma.shape[:-1])
    n = scores.shape[-1]
    plain = exponentials_are_plain(scores)  # asked before several permutations share a matrix
    keep = torch.is_grad_enabled() and scores.requires_grad
    return _LogLikelihood.apply(scores.expand(*shape, n, n), sigma.expand(*shape, n), plain, keep)
