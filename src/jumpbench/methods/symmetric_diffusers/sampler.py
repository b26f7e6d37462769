"""From a shuffled list back to an ordered one: the reverse chain, decoded in several ways."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.symmetric_diffusers.beam import hierarchical_beam, reverse_times
from jumpbench.methods.symmetric_diffusers.distributions import (
    InverseTransposition,
    PermutationDistribution,
)
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
    for time in reverse_times(schedule):
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


class Beam:
    """The ``outer`` most probable trajectories found, (B, outer, n); inner beam per step."""

    def __init__(self, inner: int = 200, outer: int = 20) -> None:
        if not 1 <= outer <= inner:
            raise UserError(f"a beam needs 1 <= outer <= inner, not inner={inner}, outer={outer}")
        self.inner, self.outer = inner, outer

    def __call__(
        self,
        law_at: LawAt,
        schedule: Sequence[int],
        lists: int,
        n: int,
        generator: torch.Generator,
    ) -> Tensor:
        widths = (self.inner, self.outer)
        return hierarchical_beam(law_at, lists, n, schedule, *widths, generator.device).permutations


def inverse_transposition(scores: Tensor) -> InverseTransposition:
    """The law of network outputs (..., n + 1), the last of which is tau."""
    return InverseTransposition(scores[..., :-1], scores[..., -1])
