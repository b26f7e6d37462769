"""Random insertions: the last object goes to a uniform position."""

import math

import torch
from torch import Tensor

from jumpbench.processes.permutations import compose, identity
from jumpbench.processes.shuffles.base import Shuffle, check_steps


class RandomInsertion(Shuffle):
    """Remove the last object and insert it so that it ends at position i, uniform on the n."""

    def sample(self, *batch_shape: int, generator: torch.Generator, steps: int = 1) -> Tensor:
        """The product of ``steps`` insertions, ``(*batch_shape, n)``."""
        check_steps(steps)
        targets = torch.randint(
            self.n, (steps, *batch_shape), generator=generator, device=generator.device
        )
        state = identity(*batch_shape, n=self.n, device=generator.device)
        for target in targets.unbind(0):
            state = compose(state, insertion(target, self.n))
        return state.clone() if steps == 0 else state

    def log_prob(self, sigma: Tensor) -> Tensor:
        self._check(sigma)
        target = (sigma == self.n - 1).long().argmax(-1)
        inside = (sigma == insertion(target, self.n)).all(-1)
        result = torch.full(inside.shape, -math.inf, dtype=torch.float64, device=sigma.device)
        return result.masked_fill_(inside, -math.log(self.n))


def insertion(target: Tensor, n: int) -> Tensor:
    """``[0..i-1, n-1, i..n-2]`` for i = ``target`` (...): the last object moved to position i."""
    positions = torch.arange(n, device=target.device)
    target = target.unsqueeze(-1)
    shifted = positions - (positions > target).long()
    return torch.where(positions == target, n - 1, shifted)
