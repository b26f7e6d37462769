"""Pure death: every unit of a count dies at rate 1 until none is left (Blackout, section 2.2)."""

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.ops.binomial import binomial, thinned
from jumpbench.processes.counts import CountProcess, log_binomial, survival_of


class PureDeath(CountProcess):
    """m -> m - 1 at rate m. X_t given X_0 = o is Binomial(o, exp(-t)); the limit is 0.

    Args:
        maximum: M, the largest count of the data (1 for binary, 255 for grey levels).

    Raises:
        UserError: ``maximum < 1``.
    """

    maximum: int

    def __init__(self, maximum: int) -> None:
        if maximum < 1:
            raise UserError(f"maximum={maximum}: counts need a largest value of at least 1")
        self.maximum = maximum

    def birth_rate(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x, dtype=torch.float64)

    def death_rate(self, x: Tensor) -> Tensor:
        return x.double()

    def log_marginal(self, x: Tensor, t: Tensor | float, start: Tensor) -> Tensor:
        return log_binomial(x, start, *survival_of(t, x))

    def sample(
        self, x: Tensor, t: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        return self.survivors(x, survival_of(t, x)[0], generator)

    def survivors(
        self, x: Tensor, survival: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        """What is left of x when each unit lives with probability ``survival``."""
        if self.maximum == 1:
            return thinned(x, survival, generator)
        return binomial(x, survival, generator, largest=self.maximum)

    def observed(
        self, x: Tensor, survival: Tensor, loss: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Survivors, drawn by the smaller of the two probabilities, survival + loss = 1.

        In float32 a survival of 1 - 3e-7 cannot be told from its neighbours; a loss of 3e-7 can.
        """
        mostly_alive = survival > 0.5
        drawn = self.survivors(x, torch.where(mostly_alive, loss, survival), generator)
        return torch.where(mostly_alive, x - drawn, drawn)

    def sample_limit(
        self,
        *shape: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        return torch.zeros(shape, dtype=self.dtype, device=device)

    @property
    def dtype(self) -> torch.dtype:
        """The smallest integer type that holds counts up to M."""
        return torch.uint8 if self.maximum < 256 else torch.int32

    def reverse_rates(self, x: Tensor, t: Tensor | float, start: Tensor) -> tuple[Tensor, Tensor]:
        survival, loss = survival_of(t, x)
        lost = (start.double() - x.double()).clamp(min=0)
        births = torch.where(lost > 0, lost * survival / loss, 0.0)
        return births, torch.zeros_like(births)

    def sample_bridge(
        self,
        x0: Tensor,
        x1: Tensor,
        noise_before: Tensor | float,
        noise_after: Tensor | float,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """X_s given X_0 = x0 and X_t = x1, s = noise_before, t = s + noise_after (eq. 13).

        x1 + Binomial(x0 - x1, r) with r = (e^-s - e^-t) / (1 - e^-t).
        """
        survival, lost = survival_of(noise_before, x0)[0], survival_of(noise_after, x0)[1]
        total = torch.as_tensor(noise_before, dtype=torch.float64, device=x0.device) + noise_after
        return x1 + self.survivors(x0 - x1, survival * lost / -torch.expm1(-total), generator)
