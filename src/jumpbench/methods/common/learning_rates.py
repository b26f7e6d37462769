"""Learning rates by step number. Each sets the rate itself; the optimiser's own is ignored."""

import math
from abc import ABC, abstractmethod

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


class RateByStep(LRScheduler, ABC):
    """Base: the rate of step s = 1, 2, ... is :meth:`rate` (s). Steps count optimiser updates."""

    @abstractmethod
    def rate(self, step: int) -> float:
        """Learning rate of step ``step``."""

    def get_lr(self) -> list[float | Tensor]:
        return [self.rate(self.last_epoch + 1)] * len(self.optimizer.param_groups)


class Noam(RateByStep):
    """d^(-1/2) min(s^(-1/2), s * warmup^(-3/2)): peak (d * warmup)^(-1/2) at s = warmup."""

    def __init__(self, optimizer: Optimizer, dim: int, warmup: int) -> None:
        self.dim, self.warmup = dim, warmup
        super().__init__(optimizer)

    def rate(self, step: int) -> float:
        return self.dim**-0.5 * min(step**-0.5, step * self.warmup**-1.5)


class InverseSquareRoot(RateByStep):
    """Linear to ``peak`` at s = warmup, then peak * (warmup / s)^(1/2): Noam with a chosen peak."""

    def __init__(self, optimizer: Optimizer, peak: float, warmup: int) -> None:
        self.peak, self.warmup = peak, warmup
        super().__init__(optimizer)

    def rate(self, step: int) -> float:
        return self.peak * min(step / self.warmup, (self.warmup / step) ** 0.5)


class Warmup(RateByStep):
    """Linear to ``peak`` at s = warmup, then ``peak``."""

    def __init__(self, optimizer: Optimizer, peak: float, warmup: int) -> None:
        self.peak, self.warmup = peak, warmup
        super().__init__(optimizer)

    def rate(self, step: int) -> float:
        return self.peak * min(1.0, step / self.warmup)


class Cosine(RateByStep):
    """Linear to ``peak`` over ``warmup`` steps (0: at once), then half a cosine to ``floor``."""

    def __init__(
        self, optimizer: Optimizer, peak: float, steps: int, floor: float = 0.0, warmup: int = 0
    ) -> None:
        self.peak, self.steps, self.floor, self.warmup = peak, steps, floor, warmup
        super().__init__(optimizer)

    def rate(self, step: int) -> float:
        if step <= self.warmup:
            return self.peak * step / self.warmup
        share = min((step - self.warmup) / max(self.steps - self.warmup, 1), 1.0)
        return self.floor + (self.peak - self.floor) * (1 + math.cos(math.pi * share)) / 2
