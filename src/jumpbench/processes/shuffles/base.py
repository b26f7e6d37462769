"""What the forward shuffles share: sampling steps, states along a schedule, one-step laws."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from jumpbench.processes.permutations import compose, identity


class Shuffle(ABC):
    """A random walk on S_n: ``X_t = X_{t-1}[sigma_t]`` with i.i.d. ``sigma_t``, independent of X.

    Time runs from 0 (data) to T (uniform noise).
    """

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"a shuffle needs n >= 1 objects, got n = {n}")
        self.n = n

    @abstractmethod
    def log_prob(self, sigma: Tensor) -> Tensor:
        """log q(sigma) of one step, (..., n) -> (...), float64; -inf outside the support."""

    @abstractmethod
    def sample(self, *batch_shape: int, generator: torch.Generator, steps: int = 1) -> Tensor:
        """The product of ``steps`` shuffles as one forward permutation, ``(*batch_shape, n)``."""

    def trajectory(
        self, *batch_shape: int, times: Sequence[int], generator: torch.Generator
    ) -> Tensor:
        """States at ``times`` from the identity at time 0, ``(len(times), *batch_shape, n)``.

        ``times`` must not decrease; a first entry 0 gives the identity.
        """
        check_times(times)
        state = identity(*batch_shape, n=self.n, device=generator.device)
        states = []
        for previous, time in zip([0, *times], times, strict=False):
            if time > previous:
                step = self.sample(*batch_shape, generator=generator, steps=time - previous)
                state = compose(state, step)
            states.append(state)
        return torch.stack(states)

    def _check(self, sigma: Tensor) -> None:
        if sigma.shape[-1] != self.n:
            raise ValueError(f"expected permutations of {self.n} objects, got {sigma.shape[-1]}")


def check_times(times: Sequence[int]) -> None:
    """Raise unless ``times`` is a non-decreasing list of integers >= 0."""
    if not len(times) or times[0] < 0 or any(b < a for a, b in pairwise(times)):
        raise ValueError(f"times must be non-decreasing and >= 0, got {list(times)}")


def check_steps(steps: int) -> None:
    """Raise unless ``steps >= 0``."""
    if steps < 0:
        raise ValueError(f"the number of shuffles must be >= 0, got {steps}")
