"""MCMC moves on the annealing path, for refined sampling and annealed chains."""

import torch
from torch import Tensor

from jumpbench.methods.dnfs.residual import mask_of
from jumpbench.samplers.chain import Kernel
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.tempered import Tempered


class PathLaw(Tempered):
    """p_t of the annealing path; padded sites of its target never change."""

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        ratios = super().neighbor_log_ratios(x)
        mask = mask_of(self.target)
        if mask is None:
            return ratios
        symbol = torch.arange(self.n_states, device=x.device)
        excluded = ~mask[..., None] & (symbol != x[..., None])
        return ratios.masked_fill(excluded, -torch.inf)


class KernelMove:
    """``steps`` steps of a Markov kernel that leave p_t invariant (section 5.3, Table 6).

    The kernel must take its moves from ``neighbor_log_ratios``, which exclude padded sites.
    """

    def __init__(self, kernel: Kernel, steps: int) -> None:
        self.kernel, self.steps = kernel, steps

    def __call__(
        self, target: DiscreteTarget, x: Tensor, t: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, float]:
        x, info = self.kernel(PathLaw(target, t), x, self.steps, generator)
        return x, float(info.energy_evaluations)
