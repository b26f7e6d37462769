"""From a shuffled list back to an ordered one: the reverse chain, decoded in several ways."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions import PermutationDistribution
from jumpbench.processes.permutations import compose, identity

# Laws of the reverse step at states (B, H, n), index arrays into the presented list, at one time.
LawAt = Callable[[Tensor, int], PermutationDistribution]


class Decoder(Protocol):
    """Final index arrays (B, H, n), the most probable first, of B lists of n objects."""

    def __call__(
        self,
        law_at: LawAt,
        schedule: Sequence[int],
        lists: int,
        n: int,
        generator: torch.Generator,
    ) -> Tensor: ...


def undo(
    law_at: LawAt,
    schedule: Sequence[int],
    start: Tensor,
    choose: Callable[[PermutationDistribution], Tensor],
) -> Tensor:
    """Run the reverse chain from ``start`` (B, H, n), taking ``choose(law)`` in every step.

    perm_{t_{i-1}} = perm_{t_i}[sigma'] for t = T, ..., t_1: one network evaluation per step.
    """
    state = start
    for time in reversed(schedule[1:]):
        state = compose(state, choose(law_at(state, time)))
    return state


class Greedy:
    """The law's cheap probable permutation in every step, (B, 1, n)."""

    def __call__(
        self,
        law_at: LawAt,
        schedule: Sequence[int],
        lists: int,
        n: int,
        generator: torch.Generator,
    ) -> Tensor:
        start = identity(lists, 1, n=n, device=generator.device)
        return undo(law_at, schedule, start, lambda law: law.greedy())


class Stochastic:
    """One draw from the learned law of ordered lists, (B, 1, n)."""

    def __call__(
        self,
        law_at: LawAt,
        schedule: Sequence[int],
        lists: int,
        n: int,
        generator: torch.Generator,
    ) -> Tensor:
        start = identity(lists, 1, n=n, device=generator.device)
        return undo(law_at, schedule, start, lambda law: law.sample(generator))
