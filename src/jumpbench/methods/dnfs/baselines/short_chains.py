"""Chains that run for a given number of steps from uniform states: Figure 13's other samplers."""

from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.draws import Draws
from jumpbench.seeding import make_generator
from jumpbench.targets.base import DiscreteTarget, random_states


class ShortChains(TargetSampler):
    """Every sample is the last state of a chain of its own; the target is not annealed.

    Args:
        target: the law.
        kernel: Markov kernel that leaves it invariant.
        steps: of the kernel, whatever it calls a step (one site, one sweep, one proposal).
        kwargs: of :class:`TargetSampler`.
    """

    def __init__(self, target: DiscreteTarget, kernel: Kernel, steps: int, **kwargs: Any) -> None:
        super().__init__(target, **kwargs)
        if steps < 1:
            raise UserError(f"steps must be at least 1, not {steps}")
        self.kernel, self.steps = kernel, steps

    def test_generator(self, number: int) -> torch.Generator:
        names = "test", type(self).__name__, type(self.kernel).__name__, str(self.steps)
        return make_generator(self.seed, *names, number, device=self.device)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        start = random_states(self.target, (n,), generator)
        x, info = self.kernel(self.target, start, self.steps, generator)
        return Draws(x, None, info.cost)
