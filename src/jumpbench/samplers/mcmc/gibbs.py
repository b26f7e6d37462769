"""Gibbs sampling: sites are drawn from their conditional law given all others.

Nothing is ever rejected; the acceptance is 1.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.chain import ChainInfo, never_rejected
from jumpbench.samplers.cost import table_evaluations
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.changes import Conditionals


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
        conditionals = Conditionals(target, x)
        for _ in range(steps):
            site = torch.randint(x.shape[1], (n_chains,), generator=generator, device=x.device)
            _redraw(conditionals, x, site, generator)
        return x, ChainInfo(never_rejected(x), 1 + steps * (target.n_states - 1), steps)


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
        conditionals = Conditionals(target, x)
        for _ in range(steps):
            for site in sites:
                _redraw(conditionals, x, site, generator)
        moves = steps * length
        return x, ChainInfo(never_rejected(x), 1 + moves * (target.n_states - 1), moves)


class BlockedGibbs:
    """A step is a sweep over blocks; all sites of a block are redrawn at once.

    It asks for, and counts, one table of neighbour ratios a block, 1 + D (N - 1) energies, where
    :class:`SystematicGibbs` counts N - 1 a site: on two colours twice as many a sweep.

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
        evaluations = moves * table_evaluations(target)
        return x if moves else x.clone(), ChainInfo(never_rejected(x), evaluations, moves)


def checkerboard(height: int, width: int, device: torch.device | str | None = None) -> Tensor:
    """The two colours of a height x width torus, row-major, as blocks (2, height * width).

    Raises:
        UserError: an odd side, where neighbours across the seam would share a colour.
    """
    if height % 2 or width % 2:
        raise UserError(
            f"on a torus of {height} x {width} neighbours across the seam share a colour: use even "
            "sides, or SystematicGibbs"
        )
    rows = torch.arange(height, device=device)[:, None]
    odd = ((rows + torch.arange(width, device=device)) % 2).bool().reshape(-1)
    return torch.stack([~odd, odd])


def _redraw(
    conditionals: Conditionals, x: Tensor, site: Tensor, generator: torch.Generator | None
) -> None:
    """Draws x[b, site[b]] from its conditional law, in place."""
    ratios = conditionals(x, site)
    fresh = sample_categorical(ratios.softmax(-1), generator)
    conditionals.commit(ratios, fresh)
    x.scatter_(1, site[:, None], fresh[:, None].to(x.dtype))
