"""Inverse transposition (IT): stay, or swap two positions drawn without replacement."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
    as_scores,
    check_width,
)
from jumpbench.ops.random_words import log_exponential


class InverseTransposition(PermutationDistribution):
    """P(identity) = ``1 - sigmoid(tau)``; otherwise the first two of Plackett-Luce(s) swap.

    Scores ``(*batch, n)`` with n >= 2 and ``tau (*batch)``. ``greedy`` is the exact mode.
    """

    def __init__(self, scores: Tensor, tau: Tensor) -> None:
        super().__init__(scores)
        self.tau = as_scores(tau, 0)
        if self.n < 2:
            raise ValueError("a transposition needs at least two objects")
        if tau.shape != self.batch_shape:
            raise ValueError(f"tau needs shape {self.batch_shape}, got {tau.shape}")

    def log_prob(self, sigma: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(self.scores.shape, sigma.shape)
        moved = sigma.expand(shape) != torch.arange(self.n, device=sigma.device)
        count = moved.sum(-1)
        first = moved.long().argmax(-1, keepdim=True)
        second = self.n - 1 - moved.flip(-1).long().argmax(-1, keepdim=True)
        # For the identity any pair will do: its value is not used.
        second = torch.where(first == second, (first + 1) % self.n, second)
        log_pair = self._log_pair(first, second).squeeze(-1)
        log_swap = F.logsigmoid(self.tau) + log_pair
        log_stay = F.logsigmoid(-self.tau).expand(count.shape)
        result = torch.where(count == 0, log_stay, log_swap)
        return result.masked_fill((count != 0) & (count != 2), -math.inf)

    @torch.no_grad()
    def sample(self, generator: torch.Generator, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = (*sample_shape, *self.batch_shape)
        noise = log_exponential((*shape, self.n), generator)
        pair = (self.scores - noise).topk(2, dim=-1).indices
        uniform = torch.rand(
            shape, dtype=self.scores.dtype, device=self.scores.device, generator=generator
        )
        return torch.where(
            (uniform < self.tau.sigmoid()).unsqueeze(-1),
            swap(pair, self.n),
            torch.arange(self.n, device=pair.device),
        )

    @torch.no_grad()
    def greedy(self) -> Tensor:
        pair = self.scores.topk(2, dim=-1).indices
        log_swap = F.logsigmoid(self.tau) + self._log_pair(*pair.split(1, -1)).squeeze(-1)
        stay = F.logsigmoid(-self.tau) >= log_swap
        positions = torch.arange(self.n, device=pair.device)
        return torch.where(stay.unsqueeze(-1), positions, swap(pair, self.n))

    @torch.no_grad()
    def beam(self, width: int, keep: int | None = None) -> Hypotheses:
        """Exact: ranks the identity and all n(n-1)/2 swaps."""
        first, second = torch.triu_indices(self.n, self.n, 1, device=self.scores.device)
        keep = min(check_width(width, keep), len(first) + 1)
        shape = (*self.batch_shape, len(first))
        log_swaps = self._log_pair(first.expand(shape), second.expand(shape))
        log_swaps = log_swaps + F.logsigmoid(self.tau).unsqueeze(-1)
        log_stay = F.logsigmoid(-self.tau).unsqueeze(-1)
        log_probs, best = torch.cat([log_stay, log_swaps], -1).topk(keep, dim=-1)
        pairs = torch.stack([first, second], -1)
        candidates = torch.cat([torch.zeros_like(pairs[:1]), pairs])
        return Hypotheses(swap(candidates[best], self.n), log_probs)

    def _log_pair(self, first: Tensor, second: Tensor) -> Tensor:
        """log P({i, j} are the first two), for index tensors (..., pairs) with i != j.

        ``logaddexp`` over both orders of ``s_i - lse(s) + s_j - lse_{k != i}(s)``.
        """
        shape = (*first.shape[:-1], self.n)
        scores = self.scores.expand(shape)
        without = self._log_sum_without().expand(shape)
        s_i, s_j = scores.gather(-1, first), scores.gather(-1, second)
        both = s_i + s_j - scores.logsumexp(-1, keepdim=True)
        return both + torch.logaddexp(-without.gather(-1, first), -without.gather(-1, second))

    def _log_sum_without(self) -> Tensor:
        """``logsumexp_{k != i} s_k`` for every i, ``(*batch, n)``, without cancellation."""
        before = F.pad(self.scores.logcumsumexp(-1)[..., :-1], (1, 0), value=-math.inf)
        after = self.scores.flip(-1).logcumsumexp(-1).flip(-1)[..., 1:]
        return torch.logaddexp(before, F.pad(after, (0, 1), value=-math.inf))


def swap(pair: Tensor, n: int) -> Tensor:
    """The transposition of two positions, (..., 2) -> (..., n); equal ones: the identity."""
    result = torch.arange(n, device=pair.device).expand(*pair.shape[:-1], n).clone()
    return result.scatter_(-1, pair, pair.flip(-1))
