"""Drawing from the generalised Plackett-Luce distribution, one row after the other."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import log_exponential
from jumpbench.methods.symmetric_diffusers.distributions.generalised_likelihood import (
    exponentials_are_plain,
    row_blocks,
)


def sample_rows(scores: Tensor, shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Exact draws ``(*shape, n)`` of GPL(scores); ``shape`` ends in the axes before (n, n)."""
    if exponentials_are_plain(scores):
        return rows_by_inversion(scores, shape, generator)
    return rows_by_argmax(scores, shape, generator)


def rows_by_inversion(scores: Tensor, shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Every row by inverting the cumulative sum of the weights left: one uniform per row.

    The Gumbel form needs a random number per column, which on CPU are most of its time; on a GPU
    they are free and the Gumbel form needs fewer kernels. Scores must satisfy
    :func:`exponentials_are_plain`. Sums and uniforms are in double precision.
    """
    n = scores.shape[-1]
    uniforms = torch.rand((n, *shape, 1), generator=generator, dtype=torch.float64)
    picks = torch.empty((n, *shape, 1), dtype=torch.long)
    left = scores.new_ones((*shape, n))
    weights = torch.empty_like(left)
    cumulative = torch.empty((*shape, n), dtype=torch.float64)
    total = cumulative[..., -1:]
    level = torch.empty((*shape, 1), dtype=torch.float64)
    rows = scores.movedim(-2, 0)
    for low, high in row_blocks(n, scores.numel() // n**2, scores.device):
        block = rows[low:high].clone(memory_format=torch.contiguous_format).exp_()
        parts = (x.unbind(0) for x in (block, uniforms[low:high], picks[low:high]))
        for row, uniform, pick in zip(*parts, strict=True):
            torch.mul(row, left, out=weights)
            torch.cumsum(weights, -1, dtype=torch.float64, out=cumulative)
            # u < 1 rounds to a level below the total, and `right` skips weights of 0: a taken
            # column is never hit.
            torch.mul(uniform, total, out=level)
            torch.searchsorted(cumulative, level, right=True, out=pick)
            left.scatter_(-1, pick, 0.0)
    return picks.squeeze(-1).movedim(0, -1).contiguous()


def rows_by_argmax(
    scores: Tensor, shape: Sequence[int], generator: torch.Generator | None
) -> Tensor:
    """Argmax over the columns not yet taken, one row after the other.

    With independent Gumbel noise in every row this draws from the distribution (one noise row
    shared by all rows would not); without a generator there is no noise. Only columns still left
    at the start of a block of rows get noise, which saves 3/8 of the random numbers.
    """
    n = scores.shape[-1]
    left = torch.arange(n, device=scores.device).expand(*shape, n)
    scores = scores.expand(*shape, n, n)
    result = torch.empty((*shape, n), dtype=torch.long, device=scores.device)
    lowest = torch.finfo(scores.dtype).min
    for low, high in row_blocks(n, prod(shape), scores.device):
        columns = left.unsqueeze(-2).expand(*shape, high - low, n - low)
        logits = scores[..., low:high, :].gather(-1, columns)
        if generator is not None:
            logits -= log_exponential(logits.shape, generator)
        # A forbidden column still comes before a taken one: the result is a permutation.
        logits.clamp_(min=lowest)
        taken = scores.new_zeros((*shape, n - low))
        open_logits = torch.empty_like(taken)
        picks = torch.empty((*shape, high - low), dtype=torch.long, device=scores.device)
        rows = zip(logits.unbind(-2), picks.split(1, -1), strict=True)
        for row, pick in rows:
            torch.add(row, taken, out=open_logits)
            torch.argmax(open_logits, dim=-1, keepdim=True, out=pick)
            taken.scatter_(-1, pick, -torch.inf)
        result[..., low:high] = left.gather(-1, picks)
        still = taken.argsort(dim=-1, descending=True, stable=True)[..., : n - high]
        left = left.gather(-1, still)
    return result
