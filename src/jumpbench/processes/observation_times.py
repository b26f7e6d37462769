"""Times at which a count process is observed, and what a step between two of them does.

Index k runs from 0 (the data, t_0 = 0) to T (the last time). All tables are float64: in float32
1 - exp(-t_1) would be wrong by 17 percent.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import softplus

from jumpbench.errors import UserError


class ObservationTimes:
    """Times 0 = t_0 < t_1 < ... < t_T of a process whose units decay at rate 1.

    Attributes:
        steps: T.
        times: (T + 1,), t_k.
        survival: (T + 1,), q_k = exp(-t_k).
        loss: (T + 1,), 1 - q_k.

    Raises:
        UserError: times that do not increase from above 0, or are not finite.
    """

    def __init__(self, times: Sequence[float] | Tensor) -> None:
        times = torch.as_tensor(times, dtype=torch.float64)
        self._set(times, torch.exp(-times), -torch.expm1(-times))

    def _set(self, times: Tensor, survival: Tensor, loss: Tensor) -> None:
        before = torch.cat([times.new_zeros(1), times])
        if times.ndim != 1 or not times.isfinite().all() or not (before.diff() > 0).all():
            raise UserError(
                "observation times must be finite and increase from above 0: "
                f"{[round(t, 6) for t in times.flatten()[:5].tolist()]}..."
            )
        self.steps = len(times)
        self.times = before
        self.survival = torch.cat([times.new_ones(1), survival])
        self.loss = torch.cat([times.new_zeros(1), loss])

    def revival(self, stride: int = 1) -> Tensor:
        """r (T + 1,): the chance that a unit lost by t_k was still there at t_(k - stride).

        r_k = (q_(k-stride) - q_k) / (1 - q_k); exactly 1 for k <= stride, and 0 at k = 0.
        """
        index = torch.arange(self.steps + 1)
        earlier = (index - stride).clamp(min=0)
        gained = self.survival[earlier] * -torch.expm1(self.times[earlier] - self.times)
        ratio = (gained / self.loss).clamp(max=1.0)
        ratio[: stride + 1] = 1.0
        ratio[0] = 0.0
        return ratio

    def visits(self, stride: int = 1) -> range:
        """Indices T, T - stride, ..., stride at which a sampler stands before its steps.

        Raises:
            UserError: ``stride`` does not divide T.
        """
        if stride < 1 or self.steps % stride:
            raise UserError(f"stride={stride} does not divide the {self.steps} observation times")
        return range(self.steps, 0, -stride)


class FisherTimes(ObservationTimes):
    """Uniform in Fisher information about the survival probability (Blackout, eq. 60).

    logit q_k falls in equal steps from A to -A, A = logit(1 - exp(-t_T)), so t_1 =
    -log(1 - exp(-t_T)) and half the times lie below log 2, where the variance is largest.

    Args:
        steps: T >= 2.
        last: t_T.

    Raises:
        UserError: fewer than two times, or a last time at or below log 2.
    """

    def __init__(self, steps: int = 1000, last: float = 15.0) -> None:
        if steps < 2 or last <= 0.6931472:
            raise UserError(f"steps={steps}, last={last}: use steps >= 2 and last > log 2")
        end = torch.tensor(last, dtype=torch.float64)
        top = torch.log(torch.expm1(end))
        index = torch.arange(steps, dtype=torch.float64)
        logit = top - 2 * top * index / (steps - 1)
        times = torch.where(index == steps - 1, end, softplus(-logit))
        self._set(times, torch.sigmoid(logit), torch.sigmoid(-logit))


class UniformTimes(ObservationTimes):
    """t_k = k t_T / T, which Blackout's Appendix E compares with the times of the Fisher
    information.

    Args:
        steps: T >= 1.
        last: t_T.

    Raises:
        UserError: no time, or a last time that is not above 0.
    """

    def __init__(self, steps: int = 1000, last: float = 15.0) -> None:
        if steps < 1:
            raise UserError(f"steps={steps}: use at least one observation time")
        super().__init__(torch.arange(1, steps + 1, dtype=torch.float64) * (last / steps))
