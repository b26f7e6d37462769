"""Plackett-Luce: objects are drawn one after the other in proportion to exp(score)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
    as_scores,
    log_exponential,
)
from jumpbench.methods.symmetric_diffusers.distributions.inner_beam import inner_beam

# exp(-700) is the order of the smallest normal double.
LARGEST_SPREAD = 700.0


class PlackettLuce(PermutationDistribution):
    """``log p(sigma) = sum_i [s_{sigma(i)} - logsumexp_{j >= i} s_{sigma(j)}]``, finite scores.

    Scores ``(*batch, n)``. ``greedy`` is the exact mode (scores in descending order).
    """

    def __init__(self, scores: Tensor) -> None:
        self.scores = as_scores(scores, 1)
        self.n = scores.shape[-1]
        self.batch_shape = scores.shape[:-1]

    def log_prob(self, sigma: Tensor) -> Tensor:
        # From the last object to the first, so that the remaining sets grow: one cumulative pass.
        shape = torch.broadcast_shapes(self.scores.shape, sigma.shape)
        from_last = self.scores.expand(shape).gather(-1, sigma.flip(-1).expand(shape))
        return (from_last - log_cumulative_sum_exp(from_last)).sum(-1)

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


def log_cumulative_sum_exp(x: Tensor) -> Tensor:
    """``log sum_{j <= i} exp(x_j)`` along the last axis.

    On CPU, where the library's stable scan is sequential, the plain cumulative sum in double
    precision serves as long as no term underflows against the largest of its row; the check reads
    a number back, which costs nothing there.
    """
    if x.device.type == "cpu" and not torch.compiler.is_compiling():
        top = x.amax(-1, keepdim=True)
        if bool((top - x.amin(-1, keepdim=True) < LARGEST_SPREAD).all()):
            scaled = (x - top).double().exp()
            return top + scaled.cumsum(-1).log().to(x.dtype)
    return x.logcumsumexp(-1)
