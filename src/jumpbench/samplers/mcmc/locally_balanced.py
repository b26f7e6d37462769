"""Locally balanced Metropolis-Hastings (Zanella 2020; Gibbs-with-gradients, Grathwohl 2021)."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from jumpbench.samplers.categorical import sample_categorical
from jumpbench.samplers.mcmc.metropolis import MetropolisInfo, at_site


def square_root(log_ratio: Tensor) -> Tensor:
    """log g for g(r) = sqrt(r)."""
    return log_ratio / 2


def barker(log_ratio: Tensor) -> Tensor:
    """log g for g(r) = r / (1 + r)."""
    return logsigmoid(log_ratio)


@torch.no_grad()
def locally_balanced(
    log_ratios: Callable[[Tensor], Tensor],
    x: Tensor,
    n_steps: int,
    generator: torch.Generator | None = None,
    log_balance: Callable[[Tensor], Tensor] = square_root,
    log_prob: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, MetropolisInfo]:
    """``n_steps`` single-site proposals (d, n) with weights g(pi(x^{d<-n}) / pi(x)), n != x^d.

    One evaluation of ``log_ratios`` per step: that of an accepted proposal is kept.

    Args:
        log_ratios: (B, D) -> (B, D, N), log pi(x^{d<-n}) - log pi(x), exact or, as from one
            gradient, approximate; the entries at the current symbols are not read.
        x: initial states (B, D), not modified.
        log_balance: log g, with g(r) = r g(1/r) for a locally balanced proposal; any g is valid.
        log_prob: (B, D) -> (B,); needed if the ratios are approximate, to accept exactly.
    """
    x = x.clone(memory_format=torch.contiguous_format)
    n_chains = x.shape[0]
    ratios = log_ratios(x)
    n_states = ratios.shape[-1]
    log_p = None if log_prob is None else log_prob(x)
    log_q = _log_proposal(ratios, x, log_balance)
    accepted = torch.zeros(n_chains, dtype=torch.int32, device=x.device)
    for _ in range(n_steps):
        flat = sample_categorical(log_q.exp(), generator)
        site, token = flat // n_states, (flat % n_states).to(x.dtype)
        back = site * n_states + at_site(x, site)
        proposal = x.scatter(1, site[:, None], token[:, None])
        new_ratios = log_ratios(proposal)
        new_log_q = _log_proposal(new_ratios, proposal, log_balance)
        if log_prob is None:
            gain = at_site(ratios.reshape(n_chains, -1), flat)
        else:
            new_log_p = log_prob(proposal)
            gain = new_log_p - log_p
        gain = gain + at_site(new_log_q, back) - at_site(log_q, flat)
        u = torch.rand(n_chains, generator=generator, device=x.device)
        accept = u < gain.exp()
        x = torch.where(accept[:, None], proposal, x)
        ratios = torch.where(accept[:, None, None], new_ratios, ratios)
        log_q = torch.where(accept[:, None], new_log_q, log_q)
        if log_prob is not None:
            log_p = torch.where(accept, new_log_p, log_p)
        accepted += accept
    return x, MetropolisInfo(accepted, n_steps + 1)


def _log_proposal(ratios: Tensor, x: Tensor, log_balance: Callable[[Tensor], Tensor]) -> Tensor:
    """Log-probabilities (B, D N) of all single-site changes; -inf at the current symbols."""
    current = x.long()[..., None]
    scores = log_balance(ratios).scatter(-1, current, -torch.inf)
    return scores.flatten(-2).log_softmax(-1)
