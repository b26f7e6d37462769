"""Random-scan Metropolis for pair interactions on the square lattice, many chains at once."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.ops.uniforms import fill_uniform_
from jumpbench.samplers.chain import ChainInfo, share
from jumpbench.targets.lattice import LatticeTarget


class LatticeMetropolis:
    """A step picks a uniform site and one of the N - 1 OTHER symbols (for Ising: a flip).

    Accepted with probability min(1, nu(x') / nu(x)). It reads five sites per chain, whatever D
    is. Unlike :class:`~jumpbench.samplers.mcmc.metropolis.SingleSiteMetropolis` it never proposes
    the current symbol, unless asked to, so a step moves N / (N - 1) times as often.

    Args:
        block: steps whose random numbers are drawn at once; changing it changes the draws.
        current: propose any of the N symbols.
    """

    def __init__(self, block: int = 64, current: bool = False) -> None:
        self.block = block
        self.current = current

    @torch.no_grad()
    def __call__(
        self, target: LatticeTarget, x: Tensor, steps: int, generator: torch.Generator | None = None
    ) -> tuple[Tensor, ChainInfo]:
        batch, length = x.shape
        n = target.n_states
        least = 0 if self.current else 1
        device = x.device
        random: dict[str, Any] = {"generator": generator, "device": device}
        site = torch.arange(length, dtype=torch.int32, device=device).view(target.size, target.size)
        # A site and its four neighbours, (5, D).
        star = torch.stack(
            (site, site.roll(1, 0), site.roll(-1, 0), site.roll(1, 1), site.roll(-1, 1))
        ).view(5, length)
        rows = length * torch.arange(batch, dtype=torch.int32, device=device)
        # Change of log nu from symbol a to b by one of four neighbours of symbol c, at
        # (a N + b) N + c.
        log_field = target.field[:, None] / 4 + target.pair
        gain = (log_field[None, :] - log_field[:, None]).to(device, torch.float32).reshape(-1)
        state = x.to(torch.int32).reshape(-1).clone()
        accepted = torch.zeros(batch, dtype=torch.long, device=device)
        for start in range(0, steps, self.block):
            size = min(self.block, steps - start)
            sites = torch.randint(length, (size * batch,), **random)
            places = star.index_select(1, sites).view(5, size, batch).transpose(0, 1).add(rows)
            shift = torch.randint(least, n, (size, batch), dtype=torch.int32, **random)
            log_u = fill_uniform_(torch.empty((size, batch), device=device), generator).log_()
            accept = torch.empty((size, batch), dtype=torch.bool, device=device)
            for k in range(size):
                symbols = state.index_select(0, places[k].reshape(-1)).view(5, batch)
                old, around = symbols[0], symbols[1:]
                new = (old + shift[k]).remainder_(n)
                change = torch.add(new, old, alpha=n).mul_(n).add(around)
                delta = gain.index_select(0, change.view(-1)).view(4, batch).sum(0)
                torch.lt(log_u[k], delta, out=accept[k])
                state.index_copy_(0, places[k, 0].long(), torch.where(accept[k], new, old))
            accepted += accept.sum(0)
        info = ChainInfo(share(accepted, steps), steps + 1, steps)
        return state.view(batch, length).to(x.dtype), info
