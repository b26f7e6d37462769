"""Random-scan Metropolis for pair interactions on the square lattice, many chains at once."""

import torch
from torch import Tensor

from jumpbench.samplers.mcmc.metropolis import MetropolisInfo
from jumpbench.targets.lattice import PairLattice


@torch.no_grad()
def lattice_metropolis(
    target: PairLattice,
    x: Tensor,
    n_steps: int,
    generator: torch.Generator,
    block: int = 64,
) -> tuple[Tensor, MetropolisInfo]:
    """``n_steps`` single-site proposals per chain from ``x (B, D)``, which is left as it is.

    A step picks a uniform site and one of the N - 1 OTHER symbols (for Ising: a flip), and accepts
    with probability min(1, nu(x') / nu(x)). It reads five sites per chain, whatever D is. Unlike
    :func:`~jumpbench.samplers.mcmc.metropolis.single_site_metropolis` it never proposes the
    current symbol, so a step moves N / (N - 1) times as often.

    Args:
        block: steps whose random numbers are drawn at once; changing it changes the draws.
    """
    batch, length = x.shape
    n = target.n_states
    device = x.device
    random = {"generator": generator, "device": device}
    site = torch.arange(length, dtype=torch.int32, device=device).view(target.size, target.size)
    # A site and its four neighbours, (5, D).
    star = torch.stack(
        (site, site.roll(1, 0), site.roll(-1, 0), site.roll(1, 1), site.roll(-1, 1))
    ).view(5, length)
    rows = length * torch.arange(batch, dtype=torch.int32, device=device)
    # Change of log nu from symbol a to b by one of four neighbours of symbol c, at (a N + b) N + c.
    log_field = target.field[:, None] / 4 + target.pair
    gain = (log_field[None, :] - log_field[:, None]).to(device, torch.float32).reshape(-1)
    state = x.to(torch.int32).reshape(-1).clone()
    accepted = torch.zeros(batch, dtype=torch.long, device=device)
    for start in range(0, n_steps, block):
        steps = min(block, n_steps - start)
        sites = torch.randint(length, (steps * batch,), **random)
        places = star.index_select(1, sites).view(5, steps, batch).transpose(0, 1).add(rows)
        shift = torch.randint(1, n, (steps, batch), dtype=torch.int32, **random)
        log_u = torch.rand((steps, batch), **random).log_()
        accept = torch.empty((steps, batch), dtype=torch.bool, device=device)
        for k in range(steps):
            symbols = state.index_select(0, places[k].reshape(-1)).view(5, batch)
            old, around = symbols[0], symbols[1:]
            new = (old + shift[k]).remainder_(n)
            change = torch.add(new, old, alpha=n).mul_(n).add(around)
            delta = gain.index_select(0, change.view(-1)).view(4, batch).sum(0)
            torch.lt(log_u[k], delta, out=accept[k])
            state.index_copy_(0, places[k, 0].long(), torch.where(accept[k], new, old))
        accepted += accept.sum(0)
    return state.view(batch, length).to(x.dtype), MetropolisInfo(accepted.int(), n_steps)
