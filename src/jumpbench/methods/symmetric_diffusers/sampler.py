"""From a shuffled list back to an ordered one: the reverse chain, decoded in several ways."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.symmetric_diffusers.distributions import (
    Hypotheses,
    InverseTransposition,
    PermutationDistribution,
)
from jumpbench.processes.permutations import compose

# Laws of the reverse step at states (B, H, n), index arrays into the presented list, at one time.
LawAt = Callable[[Tensor, int], PermutationDistribution]


class Decoder(Protocol):
    """Final index arrays (B, H, n), the most probable first, from ``start`` (B, 1, n) at time T."""

    def __call__(
        self, law_at: LawAt, schedule: Sequence[int], start: Tensor, generator: torch.Generator
    ) -> Tensor: ...


def reverse_times(schedule: Sequence[int]) -> list[int]:
    """``[t_k, ..., t_1]`` of a schedule ``[0, t_1, ..., t_k]``."""
    if len(schedule) < 2 or schedule[0] != 0 or sorted(set(schedule)) != list(schedule):
        raise ValueError(f"a schedule is 0 and then increasing times, got {list(schedule)}")
    return list(schedule[:0:-1])


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
        self, law_at: LawAt, schedule: Sequence[int], start: Tensor, generator: torch.Generator
    ) -> Tensor:
        return undo(law_at, schedule, start, lambda law: law.greedy())


class Stochastic:
    """One draw from the learned law of ordered lists, (B, 1, n)."""

    def __call__(
        self, law_at: LawAt, schedule: Sequence[int], start: Tensor, generator: torch.Generator
    ) -> Tensor:
        return undo(law_at, schedule, start, lambda law: law.sample(generator))


class Beam:
    """The ``outer`` most probable trajectories found, (B, outer, n); inner beam per step."""

    def __init__(self, inner: int = 200, outer: int = 20) -> None:
        if not 1 <= outer <= inner:
            raise UserError(f"a beam needs 1 <= outer <= inner, not inner={inner}, outer={outer}")
        self.inner, self.outer = inner, outer

    def __call__(
        self, law_at: LawAt, schedule: Sequence[int], start: Tensor, generator: torch.Generator
    ) -> Tensor:
        return hierarchical_beam(law_at, schedule, start, self.inner, self.outer).permutations


@torch.no_grad()
def hierarchical_beam(
    law_at: LawAt, schedule: Sequence[int], start: Tensor, inner: int, outer: int
) -> Hypotheses:
    """Beam search over trajectories: an inner beam in every step, an outer one over the steps.

    Every hypothesis is an index array into the given list (``start`` (B, 1, n): the identity, the
    list as it came), with the sum of its step log-probabilities. In each step it is extended by the
    ``outer`` best permutations that its own inner beam of width ``inner`` finds, and the ``outer``
    best of all remain. Equal states reached in different ways are not merged: the score is that of
    a trajectory, not of a final state. Everything stays on the device.

    Returns permutations (B, W, n) and log-probabilities (B, W), the best first; ``inner = outer =
    1`` is the greedy decoding. Network evaluations per list: 1 at t_k, then ``outer`` per step.
    """
    if not 1 <= outer <= inner:
        raise ValueError(f"a beam needs 1 <= outer <= inner, got inner {inner}, outer {outer}")
    permutations, n = start, start.shape[-1]
    log_probs = torch.zeros(start.shape[:-1], device=start.device)
    for time in reverse_times(schedule):
        steps = law_at(permutations, time).beam(inner, outer)
        joint = (log_probs.unsqueeze(-1) + steps.log_probs).flatten(1)
        log_probs, best = joint.topk(min(outer, joint.shape[1]), dim=1)
        parent = best.div(steps.log_probs.shape[-1], rounding_mode="floor")
        step = steps.permutations.flatten(1, 2).gather(1, best.unsqueeze(-1).expand(-1, -1, n))
        source = permutations.gather(1, parent.unsqueeze(-1).expand(-1, -1, n))
        permutations = compose(source, step)
    return Hypotheses(permutations, log_probs)


def inverse_transposition(scores: Tensor) -> InverseTransposition:
    """The law of network outputs (..., n + 1), the last of which is tau."""
    return InverseTransposition(scores[..., :-1], scores[..., -1])
