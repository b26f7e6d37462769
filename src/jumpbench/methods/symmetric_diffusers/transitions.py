"""Which forward steps a training batch asks the model to undo."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.processes.permutations import reverse_target
from jumpbench.processes.shuffles import Shuffle


@dataclass(frozen=True)
class Transitions:
    """S merged forward steps for each of B lists, as index arrays into the ordered list.

    ``earlier``, ``later`` long (S, B, n): X = X_0[earlier] was shuffled into X_0[later];
    ``times`` long (S, B): the time of ``later``.
    """

    earlier: Tensor
    later: Tensor
    times: Tensor

    @property
    def target(self) -> Tensor:
        """sigma' (S, B, n) with ``later[sigma'] = earlier``."""
        return reverse_target(self.later, self.earlier)


class WholeTrajectories:
    """All k steps of the schedule along ``count`` independent trajectories: S = k * count."""

    def __init__(self, count: int = 3) -> None:
        if count < 1:
            raise ValueError(f"count={count}: the loss needs at least one trajectory")
        self.count = count

    def __call__(
        self, shuffle: Shuffle, schedule: Sequence[int], lists: int, generator: torch.Generator
    ) -> Transitions:
        states = shuffle.trajectory(self.count, lists, times=schedule, generator=generator)
        times = torch.tensor(schedule[1:], device="cpu").view(-1, 1, 1)
        times = times.expand(-1, self.count, lists).flatten(0, 1)
        return Transitions(
            earlier=states[:-1].flatten(0, 1),
            later=states[1:].flatten(0, 1),
            times=times.to(states.device, non_blocking=True),
        )


class RandomTimestep:
    """One step of the schedule per list, uniform among the k: S = 1.

    The loss has 1/k of the expectation of the sum over a trajectory.
    """

    def __call__(
        self, shuffle: Shuffle, schedule: Sequence[int], lists: int, generator: torch.Generator
    ) -> Transitions:
        states = shuffle.trajectory(lists, times=schedule, generator=generator)
        steps = len(schedule) - 1
        pick = torch.randint(steps, (1, lists), generator=generator, device=generator.device)
        times = torch.tensor(schedule[1:]).to(pick.device, non_blocking=True)
        index = pick.unsqueeze(-1).expand(1, lists, states.shape[-1])
        return Transitions(
            earlier=states[:-1].gather(0, index),
            later=states[1:].gather(0, index),
            times=times[pick],
        )
