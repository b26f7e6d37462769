"""Figure 4 and Appendix E: what the death process is at its observation times."""

import math
from typing import Any

import torch
from torch import Tensor

from jumpbench.methods.blackout.losses import finite_time, instantaneous
from jumpbench.methods.common.base import Method
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import ObservationTimes
from jumpbench.samplers.draws import Draws


class ObservedProcess(Method):
    """Closed forms; nothing is drawn. With q_k = exp(-t_k), M the process' maximum and m and v the
    mean and variance of a law of X_0:

    Results: ``before_log_2``, the share of the times t_1 .. t_T below log 2; ``black``,
    P(X_(t_T) = 0 | X_0 = M) = (1 - q_T)^M; ``noisiest``, the time of the largest
    Var(X_t | X_0 = M) = M q (1 - q); ``noise_left``, Var(X_t) at that time over v, where
    Var(X_t) = q^2 v + q (1 - q) m; ``weights_gap``, the largest relative difference of the weights
    of the finite-time loss (eq. 15) and the instantaneous one (eq. 14).

    Args:
        law: of X_0 on 0..M, (M + 1,).
    """

    def __init__(
        self, process: PureDeath, grid: ObservationTimes, law: Tensor, **options: Any
    ) -> None:
        super().__init__(**options)
        self.process, self.grid = process, grid
        self.law = torch.as_tensor(law, dtype=torch.float64)

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        return Draws(torch.empty(0, 1, dtype=torch.long))

    def further_results(self) -> dict[str, float]:
        grid, top = self.grid, self.process.maximum
        times, q, lost = grid.times[1:], grid.survival[1:], grid.loss[1:]
        levels = torch.arange(len(self.law), dtype=torch.float64)
        mean = (self.law * levels).sum()
        variance = (self.law * (levels - mean) ** 2).sum()
        noisiest = (q * lost).argmax()
        spread = q[noisiest] ** 2 * variance + q[noisiest] * lost[noisiest] * mean
        ratio = finite_time(grid)[1:] / instantaneous(grid)[1:]
        return {
            "before_log_2": float((times < math.log(2)).double().mean()),
            "black": float(lost[-1] ** top),
            "noisiest": float(times[noisiest]),
            "noise_left": float(spread / variance),
            "weights_gap": float((ratio - 1).abs().max()),
        }
