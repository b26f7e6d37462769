"""The uniform reference process over [0, 1], and pairs of path ends that it bridges."""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.processes.schedules import Schedule
from jumpbench.processes.uniform import UniformProcess


@dataclass(frozen=True)
class Pairs:
    """Ends of simulated paths: ``start`` and ``end`` (B, D), log path weights (B,) or None."""

    start: Tensor
    end: Tensor
    log_weight: Tensor | None = None


@dataclass(frozen=True)
class Reference:
    """The uniform reference process on the schedule, over [0, 1]."""

    process: UniformProcess
    schedule: Schedule

    @property
    def memory(self) -> float:
        """exp(-G(0,1)): the weight with which a site at t = 1 remembers its start."""
        return float(self.schedule.decay(0.0, 1.0))

    def bridge(self, pairs: Pairs, t: Tensor, generator: torch.Generator) -> Tensor:
        """x_t of the reference bridge, at times t (B, R): states (B, R, D)."""
        before, after = self.schedule.integral(0.0, t), self.schedule.integral(t, 1.0)
        start, end = pairs.start.unsqueeze(1), pairs.end.unsqueeze(1)
        return self.process.sample_bridge(start, end, before, after, generator)

    def log_odds(self, t: Tensor) -> Tensor:
        """log A(t,1)/B(t,1): one changed site against one unchanged, over [t, 1]."""
        noise = self.schedule.integral(t, 1.0)
        stay = torch.log1p(-self.process.change_probability(noise))
        return self.process.move_probability(noise).log() - stay
