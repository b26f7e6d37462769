"""Gibbs sampling: sites are drawn from their conditional law given all others.

Single-site scans take ``conditional(x, site) -> (B, N)``, the log-weights of all symbols at one
site per chain (B,), up to a constant per chain. The blocked scan takes a target's
``neighbor_log_ratios(x) -> (B, D, N)``, whose rows are such weights for every site.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from jumpbench.samplers.categorical import sample_categorical

Conditional = Callable[[Tensor, Tensor], Tensor]


class GibbsInfo(NamedTuple):
    """What happened to each chain.

    Attributes:
        changed: site updates that changed the symbol (B,).
        n_evaluations: evaluations of the conditional (or of all ratios) per chain.
    """

    changed: Tensor
    n_evaluations: int


@torch.no_grad()
def random_scan_gibbs(
    conditional: Conditional, x: Tensor, n_steps: int, generator: torch.Generator | None = None
) -> tuple[Tensor, GibbsInfo]:
    """``n_steps`` updates of one uniformly chosen site per chain; x (B, D) is not modified."""
    x, n_chains = x.clone(), x.shape[0]
    changed = torch.zeros(n_chains, dtype=torch.int32, device=x.device)
    for _ in range(n_steps):
        site = torch.randint(x.shape[1], (n_chains,), generator=generator, device=x.device)
        changed += _update(conditional, x, site, generator)
    return x, GibbsInfo(changed, n_steps)


@torch.no_grad()
def sweep_gibbs(
    conditional: Conditional, x: Tensor, n_sweeps: int, generator: torch.Generator | None = None
) -> tuple[Tensor, GibbsInfo]:
    """``n_sweeps`` systematic scans over sites 0..D-1; x (B, D) is not modified."""
    x = x.clone()
    n_chains, length = x.shape
    changed = torch.zeros(n_chains, dtype=torch.int32, device=x.device)
    sites = torch.arange(length, device=x.device)[:, None].expand(length, n_chains)
    for _ in range(n_sweeps):
        for site in sites:
            changed += _update(conditional, x, site, generator)
    return x, GibbsInfo(changed, n_sweeps * length)


@torch.no_grad()
def blocked_gibbs(
    log_ratios: Callable[[Tensor], Tensor],
    x: Tensor,
    blocks: Tensor,
    n_sweeps: int,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, GibbsInfo]:
    """``n_sweeps`` scans in which all sites of a block are drawn at once.

    Args:
        log_ratios: (B, D) -> (B, D, N), log-weights of every symbol at every site.
        blocks: boolean (K, D). Sites of one block must be independent given the others, as the
            two colours of a chequerboard are for nearest-neighbour energies; this is not
            checked. Each site should be in one block.
    """
    changed = torch.zeros(x.shape[0], dtype=torch.int32, device=x.device)
    for _ in range(n_sweeps):
        for block in blocks:
            weights = log_ratios(x).softmax(-1)
            fresh = sample_categorical(weights, generator).to(x.dtype)
            updated = torch.where(block, fresh, x)
            changed += (updated != x).sum(-1)
            x = updated
    return x, GibbsInfo(changed, n_sweeps * len(blocks))


def checkerboard(height: int, width: int, device: torch.device | str | None = None) -> Tensor:
    """The two colours of a height x width grid, row-major, as blocks (2, height * width).

    On a torus both sides must be even, else neighbours across the seam share a colour.
    """
    rows = torch.arange(height, device=device)[:, None]
    odd = ((rows + torch.arange(width, device=device)) % 2).bool().reshape(-1)
    return torch.stack([~odd, odd])


def _update(
    conditional: Conditional, x: Tensor, site: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Redraw x[b, site[b]] in place; True (B,) where it changed."""
    weights = conditional(x, site).softmax(-1)
    fresh = sample_categorical(weights, generator).to(x.dtype)[:, None]
    column = site[:, None]
    changed = (x.gather(1, column) != fresh)[:, 0]
    x.scatter_(1, column, fresh)
    return changed
