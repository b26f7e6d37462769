"""Generalised Plackett-Luce (GPL): a separate score row for every output position."""

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
    as_scores,
    log_exponential,
)
from jumpbench.methods.symmetric_diffusers.distributions.generalised_likelihood import (
    generalised_log_likelihood,
    row_blocks,
)
from jumpbench.methods.symmetric_diffusers.distributions.inner_beam import inner_beam


class GeneralisedPlackettLuce(PermutationDistribution):
    """``log p(sigma) = sum_i [S_{i,sigma(i)} - logsumexp_{j >= i} S_{i,sigma(j)}]``.

    Scores ``(*batch, n, n)``: row i = output position, column j = index in the current list.
    -inf forbids an entry (for instance to pin an object); a permutation must remain possible.
    Equal rows give Plackett-Luce. ``greedy`` takes the best remaining column row by row, which
    need not be the mode.
    """

    def __init__(self, scores: Tensor) -> None:
        self.scores = as_scores(scores, 2)
        self.n = scores.shape[-1]
        self.batch_shape = scores.shape[:-2]

    def log_prob(self, sigma: Tensor) -> Tensor:
        return generalised_log_likelihood(self.scores, sigma)

    @torch.no_grad()
    def sample(self, generator: torch.Generator, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._row_by_row((*sample_shape, *self.batch_shape), generator)

    @torch.no_grad()
    def greedy(self) -> Tensor:
        return self._row_by_row(self.batch_shape, None)

    @torch.no_grad()
    def beam(self, width: int, keep: int | None = None) -> Hypotheses:
        return inner_beam(self.scores.reshape(-1, self.n, self.n), width, keep, self.batch_shape)

    def _row_by_row(self, shape: Sequence[int], generator: torch.Generator | None) -> Tensor:
        """Argmax over the columns not yet taken, one row after the other.

        With independent Gumbel noise in every row this draws from the distribution (one noise row
        shared by all rows would not). Only columns still left at the start of a block of rows get
        noise, which saves 3/8 of the random numbers.
        """
        n, scores = self.n, self.scores
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
