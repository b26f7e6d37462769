"""The one face of all Markov kernels, and what they report.

A kernel is an object made with its settings and called with ``(target, x, steps, generator)``; it
returns the new states and a :class:`ChainInfo`. ``x`` (B, D) holds one chain per row and is left
as it is; chains are independent. A step is what the kernel's own page says: one proposal, one
sweep, one cluster move.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jumpbench.ops.uniforms import fill_uniform_
from jumpbench.samplers.cost import Cost
from jumpbench.targets.base import DiscreteTarget


class ChainInfo(NamedTuple):
    """What the steps did to each chain, and what they took.

    Attributes:
        acceptance: share (B,) of the proposals that were accepted, including those that change
            nothing; 1 where nothing is ever rejected, else 0 if no step was asked for.
        energy_evaluations: per chain, as :class:`~jumpbench.samplers.cost.Cost` counts them.
        sequential_steps: updates of the state that had to follow one another.
    """

    acceptance: Tensor
    energy_evaluations: float
    sequential_steps: int

    @property
    def cost(self) -> Cost:
        """Of the last states, one sample per chain."""
        return Cost(
            energy_evaluations=self.energy_evaluations, sequential_steps=self.sequential_steps
        )


class Kernel(Protocol):
    """``steps`` Markov steps that leave exp(target.log_prob) invariant."""

    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]: ...


def share(accepted: Tensor, proposals: int) -> Tensor:
    """Numbers of accepted proposals (B,) as shares (B,), float32."""
    return accepted.float() / max(1, proposals)


def never_rejected(x: Tensor) -> Tensor:
    """The acceptance (B,) of kernels that draw from conditional laws."""
    return torch.ones(len(x), device=x.device)


def accepts(log_ratio: Tensor, generator: torch.Generator | None) -> Tensor:
    """True (B,) with probability min(1, exp(log_ratio)); never where it is NaN or below 2^-25."""
    u = torch.empty(log_ratio.shape, device=log_ratio.device)
    return fill_uniform_(u, generator) < log_ratio.exp()
