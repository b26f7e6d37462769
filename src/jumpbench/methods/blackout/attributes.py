"""What Tables 2 and 3 say about a method in words, read off its process and sampler."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.methods.common.base import Method
from jumpbench.processes.counts import CountProcess
from jumpbench.processes.observation_times import ObservationTimes
from jumpbench.samplers.counts import Corrector
from jumpbench.samplers.draws import Draws


class Attributes(Method):
    """Nothing is trained or sampled but the process' limit.

    Results (1 = yes, 0 = no): ``singular_start``, all draws of the limit agree;
    ``time_homogeneous``, the forward rates do not depend on time, as those of any
    :class:`CountProcess`; ``continuous``, real-valued states; and ``corrector_steps`` per step,
    ``sampling_steps`` (network evaluations), ``training_iterations``.
    """

    keep_samples = False

    def __init__(
        self,
        process: CountProcess,
        grid: ObservationTimes,
        corrector: Callable[..., Corrector] | None = None,
        stride: int = 1,
        training_steps: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.process, self.visits = process, len(grid.visits(stride))
        self.repeats = corrector(process, grid).repeats if corrector is not None else 0
        self.training_steps = training_steps
        self._limit: Tensor | None = None

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        self._limit = self.process.sample_limit(256, 4, generator=generator, device=self.device)
        return Draws(self._limit)

    def further_results(self) -> dict[str, float]:
        assert self._limit is not None
        return {
            "singular_start": float((self._limit == self._limit[0, 0]).all()),
            "time_homogeneous": float(isinstance(self.process, CountProcess)),
            "continuous": float(self._limit.is_floating_point()),
            "corrector_steps": float(self.repeats),
            "sampling_steps": float(self.visits + self.repeats * (self.visits - 1)),
            "training_iterations": float(self.training_steps),
        }
