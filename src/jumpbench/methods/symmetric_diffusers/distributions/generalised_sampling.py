"""Drawing from the generalised Plackett-Luce distribution, one row after the other."""

from collections.abc import Iterator, Sequence
from math import prod

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import exponentials_are_plain
from jumpbench.methods.symmetric_diffusers.distributions.generalised_likelihood import row_blocks
from jumpbench.ops.random_words import log_exponential


def sample_rows(scores: Tensor, shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Exact draws ``(*shape, n)`` of GPL(scores); ``shape`` ends in the axes before (n, n)."""
    if exponentials_are_plain(scores):
        return rows_by_inversion(scores, shape, generator)
    return rows_by_argmax(scores, shape, generator)


def rows_by_inversion(scores: Tensor, shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Every row by inverting the cumulative sum of the weights left: one uniform per row.

    The Gumbel form needs a random number per column, which on CPU are most of its time; on a GPU
    they are free and the Gumbel form needs fewer kernels. Scores must satisfy
    :func:`exponentials_are_plain`; probabilities are exact to the rounding of their dtype.
    """
    n, dtype = scores.shape[-1], scores.dtype
    # Hundreds of tiny operations: without the bookkeeping of autograd they take a tenth less.
    with torch.inference_mode():
        uniforms = torch.rand((n, *shape, 1), generator=generator, dtype=dtype).unbind()
        left = torch.ones((*shape, n), dtype=dtype)
        weights, cumulative, level = (torch.empty_like(x) for x in (left, left, uniforms[0]))
        total, taken = cumulative[..., -1:], torch.zeros_like(level)
        picks = torch.empty((n, *shape, 1), dtype=torch.long)
        rows = _exponential_rows(scores)
        for row, uniform, pick in zip(rows, uniforms, picks.unbind(), strict=True):
            torch.mul(row, left, out=weights)
            torch.cumsum(weights, -1, out=cumulative)
            # u < 1 rounds to a level below the total, and `right` skips weights of 0: a taken
            # column is never hit.
            torch.mul(uniform, total, out=level)
            torch.searchsorted(cumulative, level, right=True, out=pick)
            left.scatter_(-1, pick, taken)
    return picks.squeeze(-1).movedim(0, -1).clone(memory_format=torch.contiguous_format)


def _exponential_rows(scores: Tensor) -> Iterator[Tensor]:
    """exp(scores) row by row, ``(*batch, n)`` each, from one block of memory that is used again."""
    rows = scores.movedim(-2, 0)
    blocks = list(row_blocks(len(rows), rows[0, ..., 0].numel(), scores.device))
    work = scores.new_empty((blocks[0][1], *rows.shape[1:]))
    for low, high in blocks:
        # Copied first: each row is then contiguous, and so is what exp sees.
        yield from work[: high - low].copy_(rows[low:high]).exp_().unbind()


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
