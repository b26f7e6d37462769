"""Random transpositions: swap two positions drawn independently."""

import math

import torch
from torch import Tensor

from jumpbench.processes.permutations import identity
from jumpbench.processes.shuffles.base import Shuffle, check_steps


class RandomTransposition(Shuffle):
    """Draw i, j independently and uniformly and swap them: P(id) = 1/n, P((i j)) = 2/n^2."""

    def sample(self, *batch_shape: int, generator: torch.Generator, steps: int = 1) -> Tensor:
        """The product of ``steps`` transpositions, ``(*batch_shape, n)``."""
        check_steps(steps)
        pairs = torch.randint(
            self.n, (steps, *batch_shape, 2), generator=generator, device=generator.device
        )
        state = identity(*batch_shape, n=self.n, device=generator.device).clone()
        for pair in pairs.unbind(0):
            # Both reads come before the writes; for i = j the same value is written twice.
            state.scatter_(-1, pair.flip(-1), state.gather(-1, pair))
        return state

    def log_prob(self, sigma: Tensor) -> Tensor:
        self._check(sigma)
        moved = (sigma != torch.arange(self.n, device=sigma.device)).sum(-1)
        stay, swapped = -math.log(self.n), math.log(2) - 2 * math.log(self.n)
        result = torch.full(moved.shape, -math.inf, dtype=torch.float64, device=sigma.device)
        return result.masked_fill_(moved == 0, stay).masked_fill_(moved == 2, swapped)
