"""Metropolis-Hastings whose proposals always change a site."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.samplers.chain import ChainInfo, accepts, share
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import at_site, changes_of


class OtherSymbolMetropolis:
    """A step picks a uniform site and one of the N - 1 OTHER symbols, and accepts or rejects.

    As :class:`~jumpbench.samplers.mcmc.lattice_metropolis.LatticeMetropolis`, for any target. Of
    two symbols it proposes the flip, so a step moves twice as often as one of
    :class:`~jumpbench.samplers.mcmc.metropolis.SingleSiteMetropolis`. A NaN ratio rejects.
    """

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        delta, commit = changes_of(target, x)
        x = x.clone(memory_format=torch.contiguous_format)
        n_chains, length = x.shape
        random: dict[str, Any] = {"generator": generator, "device": x.device}
        accepted = torch.zeros(n_chains, dtype=torch.int32, device=x.device)
        for _ in range(steps):
            site = torch.randint(length, (n_chains,), **random)
            old = at_site(x, site)
            shift = torch.randint(1, target.n_states, (n_chains,), **random)
            token = ((old + shift) % target.n_states).to(x.dtype)
            accept = accepts(delta(x, site, token), generator)
            x.scatter_(1, site[:, None], torch.where(accept, token, old)[:, None])
            if commit is not None:
                commit(accept, site, token)
            accepted += accept
        return x, ChainInfo(share(accepted, steps), steps + 1, steps)
