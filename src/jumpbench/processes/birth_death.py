"""Birth-death processes of counts with closed-form laws: Blackout's next instances."""

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.ops.binomial import binomial
from jumpbench.processes.counts import CountProcess, log_binomial, survival_of


def log_of_sum(log_first: Tensor, log_second: Tensor) -> Tensor:
    """log P(A + B = x) from log P(A = a) and log P(B = x - a), a along the last axis."""
    return torch.logsumexp(log_first + log_second, dim=-1)


def _parts(x: Tensor, largest: Tensor) -> Tensor:
    """a = 0 .. max(largest) on a new last axis: for laws that are evaluated, never in samplers."""
    return torch.arange(int(largest.max()) + 1, device=x.device)


class ImmigrationDeath(CountProcess):
    """Births at rate rho, deaths at rate m (the queue M/M/infinity).

    X_t given o is Binomial(o, exp(-t)) + Poisson(rho (1 - exp(-t))); the limit is Poisson(rho).
    """

    def __init__(self, immigration: float) -> None:
        if not immigration > 0:
            raise UserError(f"immigration={immigration}: the rate of births must be positive")
        self.immigration = immigration

    def birth_rate(self, x: Tensor) -> Tensor:
        return torch.full_like(x, self.immigration, dtype=torch.float64)

    def death_rate(self, x: Tensor) -> Tensor:
        return x.double()

    def log_marginal(self, x: Tensor, t: Tensor | float, start: Tensor) -> Tensor:
        survival, loss = (v.unsqueeze(-1) for v in survival_of(t, x))
        old = _parts(x, start)
        new = (x.unsqueeze(-1) - old).double()
        mean = self.immigration * loss
        arrivals = torch.special.xlogy(new, mean) - mean - torch.lgamma(new + 1)
        arrivals = torch.where(new >= 0, arrivals, -torch.inf)
        return log_of_sum(log_binomial(old, start.unsqueeze(-1), survival, loss), arrivals)

    def sample(
        self, x: Tensor, t: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        x = x.to(torch.promote_types(x.dtype, torch.int32))  # there is no largest count
        survival, loss = survival_of(t, x)
        mean = (self.immigration * loss).float().expand(x.shape)
        arrivals = torch.poisson(mean.contiguous(), generator=generator).to(x.dtype)
        return binomial(x, survival, generator) + arrivals

    def sample_limit(
        self,
        *shape: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        mean = torch.full(shape, self.immigration, device=device)
        return torch.poisson(mean, generator=generator).int()


class Ehrenfest(CountProcess):
    """Of M units each is switched on at rate a and off at rate 1 - a.

    X_t given o is Binomial(o, a + (1 - a) exp(-t)) + Binomial(M - o, a (1 - exp(-t))); the limit is
    Binomial(M, a).
    """

    maximum: int

    def __init__(self, maximum: int, share: float = 0.5) -> None:
        if maximum < 1 or not 0 < share < 1:
            raise UserError(f"maximum={maximum}, share={share}: use maximum >= 1, 0 < share < 1")
        self.maximum, self.share = maximum, share

    def birth_rate(self, x: Tensor) -> Tensor:
        return self.share * (self.maximum - x.double())

    def death_rate(self, x: Tensor) -> Tensor:
        return (1 - self.share) * x.double()

    def log_marginal(self, x: Tensor, t: Tensor | float, start: Tensor) -> Tensor:
        survival, loss = (v.unsqueeze(-1) for v in survival_of(t, x))
        old, start = _parts(x, start), start.unsqueeze(-1)
        survivors = log_binomial(old, start, self.share + (1 - self.share) * survival,
                            (1 - self.share) * loss)  # fmt: skip
        added = log_binomial(x.unsqueeze(-1) - old, self.maximum - start, self.share * loss,
                             1 - self.share * loss)  # fmt: skip
        return log_of_sum(survivors, added)

    def sample(
        self, x: Tensor, t: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        if self.maximum > 255:
            x = x.to(torch.promote_types(x.dtype, torch.int32))  # counts may outgrow a byte
        survival, loss = survival_of(t, x)
        survivors = binomial(x, self.share + (1 - self.share) * survival, generator)
        return survivors + binomial(self.maximum - x, self.share * loss, generator)

    def sample_limit(
        self,
        *shape: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        units = torch.full(shape, self.maximum, dtype=torch.int32, device=device)
        return binomial(units, self.share, generator)
