"""Hierarchical beam search: from a shuffled list back along the denoising schedule."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from jumpbench.methods.symmetric_diffusers.distributions import (
    Hypotheses,
    PermutationDistribution,
)
from jumpbench.processes.permutations import compose, identity

# Permutations (lists, hypotheses, n) of the given list and a time, to the law of the next
# reverse step with batch shape (lists, hypotheses).
Reverse = Callable[[Tensor, int], PermutationDistribution]


def reverse_times(schedule: Sequence[int]) -> list[int]:
    """``[t_k, ..., t_1]`` of a schedule ``[0, t_1, ..., t_k]``."""
    if len(schedule) < 2 or schedule[0] != 0 or sorted(set(schedule)) != list(schedule):
        raise ValueError(f"a schedule is 0 and then increasing times, got {list(schedule)}")
    return list(schedule[:0:-1])


@torch.no_grad()
def hierarchical_beam(
    reverse: Reverse,
    lists: int,
    n: int,
    schedule: Sequence[int],
    inner: int,
    outer: int,
    device: torch.device | str | None = None,
) -> Hypotheses:
    """Beam search over trajectories: an inner beam in every step, an outer one over the steps.

    Every hypothesis is an index array into the given list (start: the identity, the list as it
    came), with the sum of its step log-probabilities. In each step it is extended by the ``outer``
    best permutations that its own inner beam of width ``inner`` finds, and the ``outer`` best of
    all remain. Equal states reached in different ways are not merged: the score is that of a
    trajectory, not of a final state. Everything stays on the device.

    Returns permutations ``(lists, W, n)`` and log-probabilities ``(lists, W)``, the best first;
    ``inner = outer = 1`` is the greedy decoding. Network evaluations per list: 1 at t_k, then
    ``outer`` per step.
    """
    if not 1 <= outer <= inner:
        raise ValueError(f"a beam needs 1 <= outer <= inner, got inner {inner}, outer {outer}")
    permutations = identity(lists, 1, n=n, device=device)
    log_probs = torch.zeros((lists, 1), device=permutations.device)
    for time in reverse_times(schedule):
        steps = reverse(permutations, time).beam(inner, outer)
        joint = (log_probs.unsqueeze(-1) + steps.log_probs).flatten(1)
        log_probs, best = joint.topk(min(outer, joint.shape[1]), dim=1)
        parent = best.div(steps.log_probs.shape[-1], rounding_mode="floor")
        step = steps.permutations.flatten(1, 2).gather(1, best.unsqueeze(-1).expand(-1, -1, n))
        source = permutations.gather(1, parent.unsqueeze(-1).expand(-1, -1, n))
        permutations = compose(source, step)
    return Hypotheses(permutations, log_probs)
