"""Discrete Langevin proposals with a Metropolis correction (DMALA, Zhang et al. 2022)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.chain import ChainInfo, accepts, share
from jumpbench.samplers.cost import table_evaluations
from jumpbench.targets.base import DiscreteTarget

Reluctance = Callable[[Tensor, Tensor], Tensor]


def step_size(alpha: float) -> Reluctance:
    """Reluctance 1 / (2 alpha) to change a site (bits at distance 1; DNFS sec. 6.3)."""

    def reluctance(ratios: Tensor, x: Tensor) -> Tensor:
        return torch.full_like(ratios[..., :1, :1], 1 / (2 * alpha))

    return reluctance


def expected_changes(number: float) -> Reluctance:
    """Reluctance at which at most about ``number`` sites are expected to change (DISCS).

    log sum over all changes of exp(ratio / 2), minus log ``number``; it depends on the state,
    so the kernel evaluates it at the proposal too.
    """

    def reluctance(ratios: Tensor, x: Tensor) -> Tensor:
        scores = (ratios / 2).scatter(-1, x.long()[..., None], -torch.inf)
        total = scores.flatten(-2).logsumexp(-1) - math.log(number)
        # Where every change is impossible none is proposed, however reluctantly
        return total.nan_to_num(neginf=0.0)[..., None, None]

    return reluctance


class DiscreteLangevin:
    """A step is a proposal that may change every site at once, accepted or rejected whole.

    Site d becomes v with probability proportional to exp(ratio[d, v] / 2 - c 1[v != x^d]), with
    c the reluctance; for two symbols it flips with probability sigmoid(ratio / 2 - c).
    Accepted with min(1, pi(y) q(x | y) / (pi(x) q(y | x))). One table of neighbour ratios per
    step, and one at the start; with approximate ratios one ``log_prob`` and one gradient each.

    Args:
        reluctance: :func:`step_size`, :func:`expected_changes`, or any (ratios, x) -> (B, 1, 1).
        log_ratios: approximate ratios (B, D) -> (B, D, N), as from one gradient, instead of the
            target's exact ones. Entries at the current symbols are not read (they count as 0).
    """

    def __init__(
        self, reluctance: Reluctance, log_ratios: Callable[[Tensor], Tensor] | None = None
    ) -> None:
        self.reluctance, self.log_ratios = reluctance, log_ratios

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        log_ratios = self.log_ratios or target.neighbor_log_ratios
        x = x.clone()
        log_p, log_q = target.log_prob(x), _log_proposal(log_ratios(x), x, self.reluctance)
        accepted = torch.zeros(x.shape[0], dtype=torch.int32, device=x.device)
        for _ in range(steps):
            proposal = sample_categorical(log_q.exp(), generator).to(x.dtype)
            new_log_p = target.log_prob(proposal)
            new_log_q = _log_proposal(log_ratios(proposal), proposal, self.reluctance)
            gain = new_log_p - log_p + _log_joint(new_log_q, x) - _log_joint(log_q, proposal)
            accept = accepts(gain, generator)
            x = torch.where(accept[:, None], proposal, x)
            log_p = torch.where(accept, new_log_p, log_p)
            log_q = torch.where(accept[:, None, None], new_log_q, log_q)
            accepted += accept
        each = 2 if self.log_ratios else table_evaluations(target)
        return x, ChainInfo(share(accepted, steps), each * (steps + 1), steps)


def _log_proposal(ratios: Tensor, x: Tensor, reluctance: Reluctance) -> Tensor:
    """Per-site log-probabilities (B, D, N) of the proposal from x."""
    scores = ratios / 2 - reluctance(ratios, x)
    return scores.scatter(-1, x.long()[..., None], 0.0).log_softmax(-1)


def _log_joint(log_q: Tensor, y: Tensor) -> Tensor:
    """log q(y) (B,) of per-site log-probabilities (B, D, N)."""
    return log_q.gather(-1, y.long()[..., None]).sum((-2, -1))
