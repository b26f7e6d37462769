"""Plackett-Luce: objects are drawn one after the other in proportion to exp(score)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
    exponentials_are_plain,
)
from jumpbench.methods.symmetric_diffusers.distributions.inner_beam import inner_beam
from jumpbench.ops.random_words import log_exponential


class PlackettLuce(PermutationDistribution):
    """``log p(sigma) = sum_i [s_{sigma(i)} - logsumexp_{j >= i} s_{sigma(j)}]``, finite scores.

    Scores ``(*batch, n)``. ``greedy`` is the exact mode (scores in descending order).
    """

    def log_prob(self, sigma: Tensor) -> Tensor:
        # From the last object to the first, so that the remaining sets grow: one cumulative pass.
        scores, from_last = torch.broadcast_tensors(self.scores, sigma.flip(-1))
        if exponentials_are_plain(self.scores):
            # The library's stable scan is sequential on CPU. Every object is chosen once, so the
            # chosen scores sum to all scores.
            sums = scores.exp().gather(-1, from_last).cumsum(-1, dtype=torch.float64)
            log_p = scores.sum(-1, dtype=torch.float64) - sums.log().sum(-1)
            return log_p.to(scores.dtype)
        ordered = scores.gather(-1, from_last)
        return (ordered - ordered.logcumsumexp(-1)).sum(-1)

    @torch.no_grad()
    def sample(self, generator: torch.Generator, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = log_exponential((*sample_shape, *self.scores.shape), generator)
        return (self.scores - noise).argsort(-1, descending=True)

    @torch.no_grad()
    def greedy(self) -> Tensor:
        return self.scores.argsort(dim=-1, descending=True, stable=True)

    @torch.no_grad()
    def beam(self, width: int, keep: int | None = None) -> Hypotheses:
        # The score matrix with equal rows, as a view.
        matrix = self.scores.reshape(-1, 1, self.n).expand(-1, self.n, self.n)
        return inner_beam(matrix, width, keep, self.batch_shape)
