"""Locally balanced Metropolis-Hastings (Zanella 2020; Gibbs-with-gradients, Grathwohl 2021)."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.chain import ChainInfo, accepts, share
from jumpbench.samplers.cost import table_evaluations
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import at_site


def square_root(log_ratio: Tensor) -> Tensor:
    """log g for g(r) = sqrt(r)."""
    return log_ratio / 2


def barker(log_ratio: Tensor) -> Tensor:
    """log g for g(r) = r / (1 + r)."""
    return logsigmoid(log_ratio)


class LocallyBalanced:
    """A step proposes one change (d, n), n != x^d, with weight g(pi(x^{d<-n}) / pi(x)).

    One table of neighbour ratios per step, and one at the start: that of an accepted proposal is
    kept. With approximate ratios one ``log_prob`` and one gradient each.

    Args:
        log_balance: log g, with g(r) = r g(1/r) for a locally balanced proposal; any g is valid.
        log_ratios: approximate ratios (B, D) -> (B, D, N), as from one gradient
            (Gibbs-with-gradients), instead of the target's exact ones. Proposals are then accepted
            by the target's ``log_prob``. Entries at the current symbols are not read.
    """

    def __init__(
        self,
        log_balance: Callable[[Tensor], Tensor] = square_root,
        log_ratios: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.log_balance, self.log_ratios = log_balance, log_ratios

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        x = x.clone(memory_format=torch.contiguous_format)
        n_chains, exact = x.shape[0], self.log_ratios is None
        log_ratios = target.neighbor_log_ratios if self.log_ratios is None else self.log_ratios
        ratios = log_ratios(x)
        n_states = ratios.shape[-1]
        log_p = ratios.new_zeros(n_chains) if exact else target.log_prob(x)
        log_q = _log_proposal(ratios, x, self.log_balance)
        accepted = torch.zeros(n_chains, dtype=torch.int32, device=x.device)
        for _ in range(steps):
            flat = sample_categorical(log_q.exp(), generator)
            site, token = flat // n_states, (flat % n_states).to(x.dtype)
            back = site * n_states + at_site(x, site)
            proposal = x.scatter(1, site[:, None], token[:, None])
            new_ratios = log_ratios(proposal)
            new_log_q = _log_proposal(new_ratios, proposal, self.log_balance)
            new_log_p = log_p if exact else target.log_prob(proposal)
            gain = at_site(ratios.reshape(n_chains, -1), flat) if exact else new_log_p - log_p
            gain = gain + at_site(new_log_q, back) - at_site(log_q, flat)
            accept = accepts(gain, generator)
            x = torch.where(accept[:, None], proposal, x)
            ratios = torch.where(accept[:, None, None], new_ratios, ratios)
            log_q = torch.where(accept[:, None], new_log_q, log_q)
            if not exact:
                log_p = torch.where(accept, new_log_p, log_p)
            accepted += accept
        evaluations = (steps + 1) * (table_evaluations(target) if exact else 2)
        return x, ChainInfo(share(accepted, steps), evaluations, steps)


def _log_proposal(ratios: Tensor, x: Tensor, log_balance: Callable[[Tensor], Tensor]) -> Tensor:
    """Log-probabilities (B, D N) of all single-site changes; -inf at the current symbols."""
    current = x.long()[..., None]
    scores = log_balance(ratios)
    # Where every neighbour is impossible any proposal will do: it is rejected.
    stuck = (ratios == -torch.inf).scatter(-1, current, True).all(-1).all(-1)[..., None, None]
    scores = torch.where(stuck, 0.0, scores).scatter(-1, current, -torch.inf)
    return scores.flatten(-2).log_softmax(-1)
