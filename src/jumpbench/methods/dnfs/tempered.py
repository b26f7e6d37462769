"""The law p_t of the annealing path as a target, for Markov kernels, and moves made of kernels."""

import torch
from torch import Tensor

from jumpbench.methods.dnfs.residual import mask_of
from jumpbench.samplers.chain import Kernel
from jumpbench.targets.base import DiscreteTarget


class Tempered:
    """log p_t = t log rho up to a constant; padded sites never change.

    Args:
        target: at t = 1.
        t: a number or scalar tensor.
    """

    def __init__(self, target: DiscreteTarget, t: float | Tensor) -> None:
        self.length, self.n_states = target.length, target.n_states
        self._target, self._t = target, t

    def log_prob(self, x: Tensor) -> Tensor:
        return self._t * self._target.log_prob(x)

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        ratios = self._t * self._target.neighbor_log_ratios(x)
        mask = mask_of(self._target)
        if mask is None:
            return ratios
        symbol = torch.arange(self.n_states, device=x.device)
        excluded = ~mask[..., None] & (symbol != x[..., None])
        return ratios.masked_fill(excluded, -torch.inf)


class KernelMove:
    """``steps`` steps of a Markov kernel that leave p_t invariant (section 4, "DNFS+DMALA")."""

    def __init__(self, kernel: Kernel, steps: int) -> None:
        self.kernel, self.steps = kernel, steps

    def __call__(
        self, target: DiscreteTarget, x: Tensor, t: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, float]:
        x, info = self.kernel(Tempered(target, t), x, self.steps, generator)
        return x, float(info.energy_evaluations)
