"""Inverse insertion (II): one object moves to the end of the list."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
    check_width,
)
from jumpbench.ops.random_words import log_exponential


class InverseInsertion(PermutationDistribution):
    """``p(move position i to the end) = softmax(s)_i``; i = n is the identity.

    Scores ``(*batch, n)``. ``greedy`` is the exact mode.
    """

    def log_prob(self, sigma: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(self.scores.shape, sigma.shape)
        sigma = sigma.expand(shape)
        moved = sigma[..., -1:]
        inside = (sigma == move_to_end(moved.squeeze(-1), self.n)).all(-1)
        log_p = self.scores.log_softmax(-1).expand(shape).gather(-1, moved).squeeze(-1)
        return log_p.masked_fill(~inside, -math.inf)

    @torch.no_grad()
    def sample(self, generator: torch.Generator, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = log_exponential((*sample_shape, *self.scores.shape), generator)
        return move_to_end((self.scores - noise).argmax(-1), self.n)

    @torch.no_grad()
    def greedy(self) -> Tensor:
        return move_to_end(self.scores.argmax(-1), self.n)

    @torch.no_grad()
    def beam(self, width: int, keep: int | None = None) -> Hypotheses:
        """Exact: ranks all n insertions."""
        keep = min(check_width(width, keep), self.n)
        log_probs, moved = self.scores.log_softmax(-1).topk(keep, dim=-1)
        return Hypotheses(move_to_end(moved, self.n), log_probs)


def move_to_end(position: Tensor, n: int) -> Tensor:
    """``[0..i-1, i+1..n-1, i]`` for i = ``position`` (...), shape (..., n)."""
    indices = torch.arange(n, device=position.device)
    position = position.unsqueeze(-1)
    shifted = indices + (indices >= position).long()
    return torch.where(indices == n - 1, position, shifted)
