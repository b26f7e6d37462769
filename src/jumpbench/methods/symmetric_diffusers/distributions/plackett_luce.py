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

# exp(700) and exp(-700) are normal doubles.
LARGEST_EXPONENT = 700.0


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
        if from_last.device.type == "cpu" and not torch.compiler.is_compiling():
            log_p, in_range = _by_plain_sums(from_last)
            if in_range:
                return log_p
        return (from_last - from_last.logcumsumexp(-1)).sum(-1)

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


def _by_plain_sums(from_last: Tensor) -> tuple[Tensor, bool]:
    """The log-likelihood by a plain cumulative sum in double precision, and whether it is right.

    On CPU the library's stable scan is sequential and costs twenty times as much. The sums only
    grow, so looking at the first and the last says whether any of them left the range of a double;
    the check reads a number back, which costs nothing there.
    """
    wide = from_last.double()
    log_sums = wide.exp().cumsum(-1).log()
    ends = log_sums[..., :: max(1, from_last.shape[-1] - 1)]
    in_range = bool((ends.abs() < LARGEST_EXPONENT).all())
    return (wide - log_sums).sum(-1).to(from_last.dtype), in_range
