"""Source laws mu, from which the controlled process starts at t = 0."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from jumpbench.targets.base import Target


class Source(Target, ABC):
    """A law that states can be drawn from; ``covers_space``: it leaves no state out."""

    covers_space: ClassVar[bool]

    @abstractmethod
    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """States (n, D), on the generator's device."""


class UniformSource(Source):
    """Every state is equally likely."""

    covers_space = True

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        shape, device = (n, self.length), generator.device
        return torch.randint(self.n_states, shape, generator=generator, device=device)

    def log_prob(self, x: Tensor) -> Tensor:
        return torch.full(x.shape[:-1], -self.length * math.log(self.n_states), device=x.device)

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        return torch.zeros(*x.shape, self.n_states, device=x.device)


class ConstantSource(Source):
    """Uniform over the N constant configurations: the ground states of Ising and Potts models.

    It leaves out nearly all states, so the corrector cannot be matched by its ratios (corr-AM).
    """

    covers_space = False

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        symbol = torch.randint(self.n_states, (n, 1), generator=generator, device=generator.device)
        return symbol.expand(n, self.length).contiguous()

    def log_prob(self, x: Tensor) -> Tensor:
        constant = (x == x[..., :1]).all(-1)
        return torch.where(constant, -math.log(self.n_states), -math.inf)
