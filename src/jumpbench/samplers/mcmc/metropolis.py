"""Metropolis-Hastings with uniform proposals, many chains at once.

The target enters through ``delta(x, site, token) -> (B,)``: the log-ratio
log pi(x with site := token) - log pi(x), one proposal per chain. Where the target is local this
costs O(1) per chain; :class:`LogProbDelta` makes one from any ``log_prob``.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Delta = Callable[[Tensor, Tensor, Tensor], Tensor]
Commit = Callable[[Tensor, Tensor, Tensor], None]


class MetropolisInfo(NamedTuple):
    """What happened to each chain.

    Attributes:
        accepted: accepted proposals (B,), including those that changed nothing.
        n_evaluations: evaluations of ``delta`` per chain.
    """

    accepted: Tensor
    n_evaluations: int


def at_site(x: Tensor, site: Tensor) -> Tensor:
    """x[b, site[b]] of contiguous states (B, D), shape (B,); cheaper than ``gather``."""
    rows = torch.arange(x.shape[0], device=x.device) * x.shape[1]
    return x.view(-1).index_select(0, rows + site)


class LogProbDelta:
    """``delta`` of a target known only through ``log_prob(x) -> (B,)``, caching the last value.

    Give ``delta.commit`` to the kernel as ``commit``. One evaluation per step and chain.
    Sites and tokens may be (B,) or (B, k).
    """

    def __init__(self, log_prob: Callable[[Tensor], Tensor], x: Tensor) -> None:
        self.log_prob = log_prob
        self.current = log_prob(x)
        self._proposed = self.current

    def __call__(self, x: Tensor, site: Tensor, token: Tensor) -> Tensor:
        shape = (x.shape[0], -1)
        self._proposed = self.log_prob(x.scatter(1, site.view(shape), token.view(shape)))
        return self._proposed - self.current

    def commit(self, accept: Tensor, site: Tensor, token: Tensor) -> None:
        self.current = torch.where(accept, self._proposed, self.current)


@torch.no_grad()
def single_site_metropolis(
    delta: Delta,
    x: Tensor,
    n_steps: int,
    n_states: int,
    generator: torch.Generator | None = None,
    commit: Commit | None = None,
    block: int = 8,
) -> tuple[Tensor, MetropolisInfo]:
    """``n_steps`` single-site proposals per chain (SGDD sec. 4.3; not sweeps).

    Each step picks a site uniformly and a token uniformly among all N (perhaps the current one)
    and accepts with probability min(1, exp(delta)). A NaN delta rejects.

    Args:
        delta: called with x (B, D), site (B,) long and token (B,) of x's dtype.
        x: initial states (B, D), not modified. Small integer types make the update faster.
        commit: called after each step with (accept (B,) bool, site, token), for caches of delta.
        block: greatest number of steps whose random numbers are drawn at once; changing it
            changes the draws. At 10 000 chains 8 steps stay within the processor's cache.

    Returns:
        The final states (B, D) of x's dtype, and :class:`MetropolisInfo`.
    """
    n_chains, length = x.shape
    device = x.device
    # One slot more than needed: rejected proposals are written there, which spares reading the
    # old token back.
    storage = torch.empty(n_chains * length + 1, dtype=x.dtype, device=device)
    state = storage[:-1].view(n_chains, length)
    state.copy_(x)
    waste = torch.tensor(n_chains * length, device=device)
    rows = torch.arange(n_chains, device=device) * length
    accepted = torch.zeros(n_chains, dtype=torch.int32, device=device)
    # As many blocks as needed, of equal length, so that few numbers are drawn in vain.
    block = math.ceil(n_steps / max(1, math.ceil(n_steps / block)))
    sites = torch.empty(block, n_chains, dtype=torch.long, device=device)
    indices = torch.empty_like(sites)
    tokens = torch.empty(block, n_chains, dtype=x.dtype, device=device)
    uniforms = torch.empty(block, n_chains, device=device)
    for start in range(0, n_steps, max(1, block)):
        _draw_proposals(sites, tokens, uniforms, indices, length, n_states, generator)
        indices.copy_(sites).add_(rows)
        for step in range(min(block, n_steps - start)):
            site, token, index = sites[step], tokens[step], indices[step]
            accept = uniforms[step] < delta(state, site, token).exp()
            storage.scatter_(0, torch.where(accept, index, waste), token)
            accepted += accept
            if commit is not None:
                commit(accept, site, token)
    return state.clone(), MetropolisInfo(accepted, n_steps)


@torch.no_grad()
def multi_site_metropolis(
    delta: Delta,
    x: Tensor,
    n_steps: int,
    n_states: int,
    n_sites: int,
    generator: torch.Generator | None = None,
    commit: Commit | None = None,
) -> tuple[Tensor, MetropolisInfo]:
    """``n_steps`` proposals per chain, each changing ``n_sites`` distinct sites at once.

    As :func:`single_site_metropolis`, with site and token of shape (B, n_sites).
    """
    n_chains, length = x.shape
    if not 1 <= n_sites <= length:
        raise ValueError(f"n_sites is {n_sites}; states of length {length} have 1 to {length}")
    x = x.clone()
    accepted = torch.zeros(n_chains, dtype=torch.int32, device=x.device)
    shape = (n_chains, n_sites)
    for _ in range(n_steps):
        order = torch.rand(x.shape, generator=generator, device=x.device)
        site = order.topk(n_sites, sorted=False).indices
        token = torch.randint(n_states, shape, generator=generator, device=x.device, dtype=x.dtype)
        u = torch.rand(n_chains, generator=generator, device=x.device)
        accept = u < delta(x, site, token).exp()
        x.scatter_(1, site, torch.where(accept[:, None], token, x.gather(1, site)))
        accepted += accept
        if commit is not None:
            commit(accept, site, token)
    return x, MetropolisInfo(accepted, n_steps)


def _draw_proposals(
    sites: Tensor,
    tokens: Tensor,
    uniforms: Tensor,
    bits: Tensor,
    length: int,
    n_states: int,
    generator: torch.Generator | None,
) -> None:
    """Fill the first three with uniform sites, tokens and numbers in [0, 1), from 63 bits each.

    Random bits are half of a step's cost. 24 of them make a float32 uniform; the other 39, read
    as a fraction, give the token as the integer part of N times it, and what is left of the
    fraction gives the site in the same way: uniform to within N D / 2^39.
    """
    if max(length, n_states) > 2**24:
        raise ValueError(f"length {length}, n_states {n_states}: at most 2^24 are supported")
    bits.random_(generator=generator)
    uniforms.copy_(torch.bitwise_and(bits, 2**24 - 1, out=sites)).mul_(2.0**-24)
    bits.bitwise_right_shift_(24).mul_(n_states)
    tokens.copy_(torch.bitwise_right_shift(bits, 39, out=sites))
    bits.bitwise_and_(2**39 - 1).mul_(length)
    torch.bitwise_right_shift(bits, 39, out=sites)
