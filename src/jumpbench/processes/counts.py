"""Processes of counts: every site holds an integer and makes unit steps, independently and alike.

States are integer tensors of any shape; nothing is ever expanded over the values of a count.
"""

from abc import abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.processes.process import Process


class CountProcess(Process):
    """A birth-death process on 0, 1, 2, ... that starts at t = 0.

    ``t`` is a number or a tensor broadcastable to the states. Laws and rates are float64.

    Attributes:
        maximum: largest count, None where there is none.
    """

    maximum: int | None = None

    @abstractmethod
    def birth_rate(self, x: Tensor) -> Tensor:
        """Forward rate nu_+(x) of x -> x + 1."""

    @abstractmethod
    def death_rate(self, x: Tensor) -> Tensor:
        """Forward rate nu_-(x) of x -> x - 1."""

    @abstractmethod
    def log_marginal(self, x: Tensor, t: Tensor | float, start: Tensor) -> Tensor:
        """log p(X_t = x | X_0 = start); -inf where x cannot be reached."""

    def reverse_rates(self, x: Tensor, t: Tensor | float, start: Tensor) -> tuple[Tensor, Tensor]:
        """Rates of x -> x + 1 and x -> x - 1 of the process run backwards, given X_0.

        An event is undone with nu(origin) p(origin, t | start) / p(x, t | start): a birth backwards
        undoes a death from x + 1, a death backwards a birth from x - 1 (Blackout, eqs. 5 and 71).
        """
        x = x.long()  # x + 1 must not wrap around
        here = self.log_marginal(x, t, start)

        def undone(origin: Tensor, rate: Tensor) -> Tensor:
            ratio = torch.exp(self.log_marginal(origin, t, start) - here)
            return torch.where((rate > 0) & here.isfinite(), rate * ratio, 0.0)

        below = (x - 1).clamp(min=0)
        deaths = torch.where(x > 0, self.birth_rate(below), 0.0)
        return undone(x + 1, self.death_rate(x + 1)), undone(below, deaths)

    def score(self, x: Tensor, t: Tensor | float, start: Tensor) -> tuple[Tensor, Tensor]:
        """Discrete scores nu(origin) (p(origin) - p(x)) / p(x) of undoing a death and a birth."""
        x = x.long()
        births, deaths = self.reverse_rates(x, t, start)
        inverse = torch.where(x > 0, self.birth_rate((x - 1).clamp(min=0)), 0.0)
        return births - self.death_rate(x + 1), deaths - inverse


def log_binomial(
    x: Tensor, count: Tensor, survival: Tensor, loss: Tensor,
    lgamma: Callable[[Tensor], Tensor] = torch.lgamma,
) -> Tensor:  # fmt: skip
    """log P(Binomial(count, survival) = x) with loss = 1 - survival; float64, 0 log 0 = 0."""
    x, count = torch.broadcast_tensors(x.double(), count.double())
    possible = (x >= 0) & (x <= count)
    x = torch.where(possible, x, 0.0)
    choose = lgamma(count + 1) - lgamma(x + 1) - lgamma(count - x + 1)
    value = choose + torch.special.xlogy(x, survival) + torch.special.xlogy(count - x, loss)
    return torch.where(possible, value, -torch.inf)


def survival_of(t: Tensor | float, like: Tensor) -> tuple[Tensor, Tensor]:
    """exp(-t) and 1 - exp(-t) in float64 on the device of ``like``."""
    t = torch.as_tensor(t, dtype=torch.float64, device=like.device)
    return torch.exp(-t), -torch.expm1(-t)
