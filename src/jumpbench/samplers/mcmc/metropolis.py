"""Metropolis-Hastings with uniform proposals, many chains at once.

The target enters through ``delta(x, site, token) -> (B,)``: the log-ratio
log pi(x with site := token) - log pi(x), one proposal per chain. Where the target is local this
costs O(1) per chain (see :mod:`jumpbench.targets.changes`).
"""

import math
from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.chain import ChainInfo, accepts, share
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import Commit, Delta, block_of, changes_of, has_blocks


class SingleSiteMetropolis:
    """A step picks a site and a token uniformly (perhaps the current one), and accepts or rejects.

    Args:
        block: see :func:`single_site_metropolis`.
    """

    def __init__(self, block: int = 8) -> None:
        self.block = block

    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        delta, commit = changes_of(target, x)
        return single_site_metropolis(
            delta, x, steps, target.n_states, generator, commit, self.block
        )


class MultiSiteMetropolis:
    """A step gives ``n_sites`` distinct sites uniform tokens at once, and accepts or rejects.

    It asks for ``log_prob`` only.
    """

    def __init__(self, n_sites: int) -> None:
        self.n_sites = n_sites

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        n_chains, length = x.shape
        if not 1 <= self.n_sites <= length:
            raise ValueError(
                f"n_sites is {self.n_sites}; states of length {length} have 1 to {length}"
            )
        x, log_p = x.clone(), target.log_prob(x)
        accepted = torch.zeros(n_chains, dtype=torch.int32, device=x.device)
        shape = (n_chains, self.n_sites)
        random: dict[str, Any] = {"generator": generator, "device": x.device}
        for _ in range(steps):
            site = torch.rand(x.shape, **random).topk(self.n_sites, sorted=False).indices
            token = torch.randint(target.n_states, shape, dtype=x.dtype, **random)
            proposal = x.scatter(1, site, token)
            new_log_p = target.log_prob(proposal)
            accept = accepts(new_log_p - log_p, generator)
            x = torch.where(accept[:, None], proposal, x)
            log_p = torch.where(accept, new_log_p, log_p)
            accepted += accept
        return x, ChainInfo(share(accepted, steps), steps + 1, steps)


@torch.no_grad()
def single_site_metropolis(
    delta: Delta,
    x: Tensor,
    n_steps: int,
    n_states: int,
    generator: torch.Generator | None = None,
    commit: Commit | None = None,
    block: int = 8,
) -> tuple[Tensor, ChainInfo]:
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
        The final states (B, D) of x's dtype, and a ``ChainInfo``: one energy evaluation per step
        and one at the start.
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
    steps = list(zip(*(part.unbind(0) for part in (sites, tokens, indices, uniforms)), strict=True))
    # The old symbols are scattered in memory: read for those that take them only.
    takes_old = has_blocks(delta)
    for start in range(0, n_steps, max(1, block)):
        _draw_proposals(sites, tokens, uniforms, indices, length, n_states, generator)
        indices.copy_(sites).add_(rows)
        uniforms.log_()
        log_ratio = block_of(delta, sites, tokens, indices)
        for step in range(min(block, n_steps - start)):
            site, token, index, log_u = steps[step]
            old = storage.index_select(0, index) if takes_old else token
            accept = log_u <= log_ratio(step, state, old)
            storage.scatter_(0, torch.where(accept, index, waste), token)
            accepted += accept
            if commit is not None:
                commit(accept, site, token)
    return state.clone(), ChainInfo(share(accepted, n_steps), n_steps + 1, n_steps)


def _draw_proposals(
    sites: Tensor,
    tokens: Tensor,
    uniforms: Tensor,
    bits: Tensor,
    length: int,
    n_states: int,
    generator: torch.Generator | None,
) -> None:
    """Fill the first three with uniform sites, tokens and numbers in (0, 1], from 63 bits each.

    Random bits are half of a step's cost. 24 of them make a float32 uniform, never 0: that would
    accept a move of any probability above 0; the other 39, read
    as a fraction, give the token as the integer part of N times it, and what is left of the
    fraction gives the site in the same way: uniform to within N D / 2^39.
    """
    if max(length, n_states) > 2**24:
        raise ValueError(f"length {length}, n_states {n_states}: at most 2^24 are supported")
    bits.random_(generator=generator)
    uniforms.copy_(torch.bitwise_and(bits, 2**24 - 1, out=sites)).add_(1).mul_(2.0**-24)
    bits.bitwise_right_shift_(24).mul_(n_states)
    tokens.copy_(torch.bitwise_right_shift(bits, 39, out=sites))
    bits.bitwise_and_(2**39 - 1).mul_(length)
    torch.bitwise_right_shift(bits, 39, out=sites)
