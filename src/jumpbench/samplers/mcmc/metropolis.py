"""Metropolis-Hastings with uniform proposals, many chains at once.

The target enters through ``delta(x, site, token) -> (B,)``: the log-ratio
log pi(x with site := token) - log pi(x), one proposal per chain. Where the target is local this
costs O(1) per chain (see :mod:`jumpbench.targets.changes`).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.chain import ChainInfo, accepts, share
from jumpbench.samplers.mcmc.proposals import Proposals, by_step, draw_proposals
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import BlockStep, Commit, Delta, block_of, changes_of, has_blocks

Steps = Callable[..., tuple[Tensor, Tensor]]


class SingleSiteMetropolis:
    """A step picks a site and a token uniformly (perhaps the current one), and accepts or rejects.

    Args:
        block: see :func:`single_site_metropolis`.
        compile: compile blocks of steps (CUDA graphs on a GPU). The draws stay the same. Targets
            with a cache of their own are not compiled.
    """

    def __init__(self, block: int = 8, compile: bool = False) -> None:
        self.block = block
        # Wrapped once: what it has compiled serves every later call.
        self.compiled: Steps | None = None
        if compile:
            self.compiled = torch.compile(steps_on_copies, dynamic=False, mode="reduce-overhead")

    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        delta, commit = changes_of(target, x)
        return single_site_metropolis(
            delta, x, steps, target.n_states, generator, commit, self.block, self.compiled
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
    compiled: Steps | None = None,
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
        compiled: what a compiler made of :func:`steps_on_copies`; the steps of a block are then
            one call of it. It is not used where ``commit`` is given.

    Returns:
        The final states (B, D) of x's dtype, and a ``ChainInfo``: one energy evaluation per step
        and one at the start.
    """
    n_chains, length = x.shape
    device = x.device
    # One slot more than needed: rejected proposals are written there, which spares reading the
    # old token back.
    storage = torch.empty(n_chains * length + 1, dtype=x.dtype, device=device)
    storage[:-1].view(n_chains, length).copy_(x)
    rows = torch.arange(n_chains, device=device) * length
    accepted = torch.zeros(n_chains, dtype=torch.int32, device=device)
    # As many blocks as needed, of equal length, so that few numbers are drawn in vain.
    block = math.ceil(n_steps / max(1, math.ceil(n_steps / block)))
    sites = torch.empty(block, n_chains, dtype=torch.long, device=device)
    indices = torch.empty_like(sites)
    tokens = torch.empty(block, n_chains, dtype=x.dtype, device=device)
    uniforms = torch.empty(block, n_chains, device=device)
    drawn = (sites, tokens, indices, uniforms)
    proposals = by_step(*drawn)
    for start in range(0, n_steps, max(1, block)):
        draw_proposals(sites, tokens, uniforms, indices, length, n_states, generator)
        indices.copy_(sites).add_(rows)
        uniforms.log_()
        used = min(block, n_steps - start)
        if compiled is None or commit is not None:
            log_ratio = block_of(delta, sites, tokens, indices)
            _steps(delta, log_ratio, proposals[:used], storage, accepted, commit)
        else:
            states = compiled(delta, *(part[:used] for part in drawn), storage, accepted)
            # The next call may overwrite what this one returned (CUDA graphs).
            storage, accepted = (part.clone() for part in states)
    return storage[:-1].view(n_chains, length).clone(), ChainInfo(
        share(accepted, n_steps), n_steps + 1, n_steps
    )


def steps_on_copies(
    delta: Delta,
    sites: Tensor,
    tokens: Tensor,
    indices: Tensor,
    uniforms: Tensor,
    storage: Tensor,
    accepted: Tensor,
) -> tuple[Tensor, Tensor]:
    """A block of steps (K, B) on new tensors, for compilers: its arguments stay as they are."""
    storage, accepted = storage.clone(), accepted.clone()
    log_ratio = block_of(delta, sites, tokens, indices)
    _steps(delta, log_ratio, by_step(sites, tokens, indices, uniforms), storage, accepted, None)
    return storage, accepted


def _steps(
    delta: Delta,
    log_ratio: BlockStep,
    proposals: Proposals,
    storage: Tensor,
    accepted: Tensor,
    commit: Commit | None,
) -> None:
    """Steps of a block in place: states in ``storage`` (B D + 1), numbers accepted (B,)."""
    state = storage[:-1].view(len(accepted), -1)
    waste = torch.full((), len(storage) - 1, device=storage.device)
    # The old symbols are scattered in memory: read for those that take them only.
    takes_old = has_blocks(delta)
    for step, (site, token, index, log_u) in enumerate(proposals):
        old = storage.index_select(0, index) if takes_old else token
        accept = log_u <= log_ratio(step, state, old)
        storage.scatter_(0, torch.where(accept, index, waste), token)
        accepted += accept
        if commit is not None:
            commit(accept, site, token)
