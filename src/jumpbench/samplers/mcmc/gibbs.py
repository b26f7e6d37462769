"""Gibbs sampling: sites are drawn from their conditional law given all others.

Nothing is ever rejected; the acceptance is 1.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.kernels.categorical import sample_categorical
from jumpbench.samplers.chain import ChainInfo, never_rejected
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import site_log_ratios


class RandomScanGibbs:
    """A step redraws one uniformly chosen site per chain."""

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        x, n_chains = x.clone(memory_format=torch.contiguous_format), x.shape[0]
        for _ in range(steps):
            site = torch.randint(x.shape[1], (n_chains,), generator=generator, device=x.device)
            _redraw(target, x, site, generator)
        return x, ChainInfo(never_rejected(x), steps, steps)


class SystematicGibbs:
    """A step is a sweep: sites 0..D-1 are redrawn one after the other."""

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        x = x.clone(memory_format=torch.contiguous_format)
        n_chains, length = x.shape
        sites = torch.arange(length, device=x.device)[:, None].expand(length, n_chains)
        for _ in range(steps):
            for site in sites:
                _redraw(target, x, site, generator)
        return x, ChainInfo(never_rejected(x), steps * length, steps * length)


class BlockedGibbs:
    """A step is a sweep over blocks; all sites of a block are redrawn at once.

    Args:
        blocks: boolean (K, D). Sites of one block must be independent given the others, as the
            two colours of a chequerboard are for nearest-neighbour energies; this is not
            checked. Each site should be in one block.
    """

    def __init__(self, blocks: Tensor | Sequence[Sequence[bool]]) -> None:
        self.blocks = torch.as_tensor(blocks, dtype=torch.bool)

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        blocks = self.blocks.to(x.device)
        for _ in range(steps):
            for block in blocks:
                weights = target.neighbor_log_ratios(x).softmax(-1)
                x = torch.where(block, sample_categorical(weights, generator).to(x.dtype), x)
        moves = steps * len(blocks)
        return x if moves else x.clone(), ChainInfo(never_rejected(x), moves, moves)


def checkerboard(height: int, width: int, device: torch.device | str | None = None) -> Tensor:
    """The two colours of a height x width grid, row-major, as blocks (2, height * width).

    On a torus both sides must be even, else neighbours across the seam share a colour.
    """
    rows = torch.arange(height, device=device)[:, None]
    odd = ((rows + torch.arange(width, device=device)) % 2).bool().reshape(-1)
    return torch.stack([~odd, odd])


def _redraw(
    target: DiscreteTarget, x: Tensor, site: Tensor, generator: torch.Generator | None
) -> None:
    """Draws x[b, site[b]] from its conditional law, in place."""
    weights = site_log_ratios(target, x, site).softmax(-1)
    fresh = sample_categorical(weights, generator).to(x.dtype)
    x.scatter_(1, site[:, None], fresh[:, None])
