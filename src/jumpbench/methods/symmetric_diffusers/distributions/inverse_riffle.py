"""Inverse riffle (IRS): every object goes left or right, then the piles are put together."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
    check_width,
)


class InverseRiffle(PermutationDistribution):
    """Position i goes left with probability ``sigmoid(s_i)``; left objects first, order kept.

    Scores ``(*batch, n)``. The support is the inverses of all riffles, ``2^n - n`` permutations:
    one descent names its left set; the identity sums the n + 1 left sets ``{1..k}``. ``greedy``
    sends i left iff ``s_i >= 0``, which misses the mode where the merged identity is it.
    """

    def log_prob(self, sigma: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(self.scores.shape, sigma.shape)
        scores, sigma = self.scores.expand(shape), sigma.expand(shape)
        descent = sigma[..., :-1] > sigma[..., 1:]
        count = descent.sum(-1)
        # Number of positions up to the (first) descent: the size of the left pile.
        left_size = (descent.cumsum(-1) == 0).sum(-1, keepdim=True) + 1
        is_left = torch.arange(self.n, device=sigma.device) < left_size
        ordered = scores.gather(-1, sigma)
        one_set = torch.where(is_left, F.logsigmoid(ordered), F.logsigmoid(-ordered)).sum(-1)
        result = torch.where(count == 0, self._log_identity().expand(count.shape), one_set)
        return result.masked_fill(count > 1, -math.inf)

    @torch.no_grad()
    def sample(self, generator: torch.Generator, sample_shape: Sequence[int] = ()) -> Tensor:
        uniform = torch.rand(
            (*sample_shape, *self.scores.shape),
            dtype=self.scores.dtype,
            device=self.scores.device,
            generator=generator,
        )
        return stable_partition(uniform >= self.scores.sigmoid())

    @torch.no_grad()
    def greedy(self) -> Tensor:
        return stable_partition(self.scores < 0)

    @torch.no_grad()
    def beam(self, width: int, keep: int | None = None) -> Hypotheses:
        """Exact: objects are independent, so the best partial left sets extend to the best ones."""
        keep = min(check_width(width, keep), 2**self.n - self.n)
        # n + 1 more than asked for: that many left sets are the identity in disguise.
        log_sides = torch.stack([F.logsigmoid(self.scores), F.logsigmoid(-self.scores)], -1)
        totals = self.scores.new_zeros((*self.batch_shape, 1))
        right = torch.zeros((*self.batch_shape, 1, 0), dtype=torch.bool, device=self.scores.device)
        for sides in log_sides.unbind(-2):
            joint = (totals.unsqueeze(-1) + sides.unsqueeze(-2)).flatten(-2)
            totals, best = joint.topk(min(joint.shape[-1], width + self.n + 1), dim=-1)
            parent = best.div(2, rounding_mode="floor").unsqueeze(-1)
            right = right.gather(-2, parent.expand(*parent.shape[:-1], right.shape[-1]))
            right = torch.cat([right, (best % 2 == 1).unsqueeze(-1)], -1)
        permutations = stable_partition(right)
        positions = torch.arange(self.n, device=permutations.device)
        totals = totals.masked_fill((permutations == positions).all(-1), -math.inf)
        totals = torch.cat([totals, self._log_identity().unsqueeze(-1)], -1)
        identity = positions.expand(*self.batch_shape, 1, self.n)
        permutations = torch.cat([permutations, identity], -2)
        log_probs, best = totals.topk(keep, dim=-1)
        best = best.unsqueeze(-1).expand(*best.shape, self.n)
        return Hypotheses(permutations.gather(-2, best), log_probs)

    def _log_identity(self) -> Tensor:
        """``logsumexp_{k=0..n} [sum_{i<=k} log phi(s_i) + sum_{i>k} log phi(-s_i)]``."""
        # log phi(s) - log phi(-s) = s, so each further left object adds its score.
        all_right = F.logsigmoid(-self.scores).sum(-1, keepdim=True)
        prefixes = F.pad(self.scores.cumsum(-1), (1, 0))
        return (all_right + prefixes).logsumexp(-1)


def stable_partition(right: Tensor) -> Tensor:
    """Left positions in order, then right positions in order, (..., n) bool to indices."""
    return right.to(torch.uint8).argsort(dim=-1, stable=True)
