"""Generating counts by undoing pure death: binomial bridge, Poisson leaps, corrector (Blackout).

From the empty state at t_T, every step k = T, ..., 1 asks for y = E[X_0 - X_t | X_t], the number of
units each site is expected to have lost, and brings back some of them. States stay integers on
their device; nothing is read back inside the loop.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.ops.binomial import binomial
from jumpbench.ops.checks import require
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import ObservationTimes
from jumpbench.samplers.cost import Meter, metered
from jumpbench.samplers.draws import Draws

Lost = Callable[[Tensor, int], Tensor]
"""States (B, ...) and the index k of their time -> expected units lost (B, ...), real, >= 0."""

Rounding = Callable[[Tensor, torch.Generator | None], Tensor]


def nearest(y: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """To the nearest integer. Biased: where y stays below 1/2 nothing ever comes back."""
    return y.round()


def stochastic(y: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """floor(y) + Bernoulli(y - floor(y)): the mean is kept."""
    return (y + torch.rand(y.shape, generator=generator, device=y.device)).floor()


class CountStep(Protocol):
    """One step of a sampler from t_k to an earlier time."""

    def __call__(
        self, x: Tensor, lost: Lost, k: int, revival: float, generator: torch.Generator | None
    ) -> Tensor: ...


@dataclass(frozen=True)
class BinomialBridge:
    """x + Binomial(c, r), c = y clipped to [0, M - x] and made an integer (Algorithm 2, bridge).

    With ``nearest``, the paper's rule, the law stays wrong however fine the steps; with
    ``stochastic`` the error falls like 1/T.
    """

    process: PureDeath
    rounding: Rounding = nearest

    def __call__(
        self, x: Tensor, lost: Lost, k: int, revival: float, generator: torch.Generator | None
    ) -> Tensor:
        room = self.process.maximum - x
        y = lost(x, k).clamp(min=0)
        count = torch.minimum(self.rounding(y, generator), room.to(y.dtype)).to(x.dtype)
        if revival >= 1:
            return x + count
        return x + self.process.survivors(count, revival, generator)


@dataclass(frozen=True)
class PosteriorBridge:
    """x + Binomial(D, r), D drawn from the law of X_0 - X_t given X_t: exact for any steps.

    Args:
        draw: states, k, generator -> integer draws of D. Only enumerable problems have it.
    """

    process: PureDeath
    draw: Callable[[Tensor, int, torch.Generator | None], Tensor]

    def __call__(
        self, x: Tensor, lost: Lost, k: int, revival: float, generator: torch.Generator | None
    ) -> Tensor:
        return x + self.process.survivors(self.draw(x, k, generator), revival, generator)


@dataclass(frozen=True)
class PoissonLeap:
    """x + Poisson(y r), clipped at M (Algorithm 2, tau-leaping, with the mean of a bridge).

    y is clipped to [0, M - x] but never rounded. The paper prints the mean y e^-t / (1 - e^-t),
    which lacks the time step; y (t_k - t_(k-1)) e^-t / (1 - e^-t), ``textbook``, leaps with the
    rate frozen at t_k and is less accurate.

    Args:
        textbook: the grid, to leap so.
        stride: with ``textbook``, the sampler's, which a step is not told.
    """

    process: PureDeath
    textbook: ObservationTimes | None = None
    stride: int = 1

    def __call__(
        self, x: Tensor, lost: Lost, k: int, revival: float, generator: torch.Generator | None
    ) -> Tensor:
        room = (self.process.maximum - x).float()
        y = torch.minimum(lost(x, k).float().clamp(min=0), room)
        grid = self.textbook
        if grid is not None:
            step = float(grid.times[k] - grid.times[max(k - self.stride, 0)])
            revival = step * float(grid.survival[k] / grid.loss[k])
        births = torch.poisson(y * revival, generator=generator)
        return x + torch.minimum(births, room).to(x.dtype)


@dataclass(frozen=True)
class Corrector:
    """Births and deaths that keep the marginal at t_k to first order in h.

    ``repeats`` times after a step from t_before; none while t_k > ``entry_time``.

    Births ~ Poisson(h y e^-t / (1 - e^-t)), deaths ~ Binomial(x, 1 - e^-h), both from the same x,
    h = ``size`` (t_before - t_k) (by analogy with Campbell et al. 2022; the paper names two
    corrector steps and does not describe them).
    """

    process: PureDeath
    grid: ObservationTimes
    repeats: int = 2
    size: float = 0.25
    entry_time: float = float("inf")

    def __call__(
        self, x: Tensor, lost: Lost, before: int, k: int, generator: torch.Generator | None
    ) -> Tensor:
        """States at t_k, k >= 1, reached by a step from t_before."""
        if float(self.grid.times[k]) > self.entry_time:
            return x
        h = self.size * float(self.grid.times[before] - self.grid.times[k])
        rate = h * float(self.grid.survival[k] / self.grid.loss[k])
        dying = -torch.expm1(torch.tensor(-h, dtype=torch.float64)).item()
        for _ in range(self.repeats):
            room = (self.process.maximum - x).float()
            y = torch.minimum(lost(x, k).float().clamp(min=0), room)
            births = torch.poisson(y * rate, generator=generator)
            deaths = binomial(x, dying, generator, self.process.maximum).float()
            after = (x.float() + births - deaths).clamp(0, self.process.maximum)
            x = after.to(x.dtype)
        return x


@torch.no_grad()
def generate_counts(
    lost: Lost,
    process: PureDeath,
    grid: ObservationTimes,
    shape: tuple[int, ...],
    step: CountStep,
    corrector: Corrector | None = None,
    stride: int = 1,
    keep: Collection[int] = (),
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> Draws:
    """Counts of the given shape (B, ...), from the empty state.

    Args:
        lost: the model, called once a step and once a corrector step.
        stride: visit every ``stride``-th time only; must divide T.
        keep: indices k whose states become ``extras["path"]`` (B, len(keep), ...), k falling.

    Raises:
        UserError: ``stride`` does not divide T, a textbook leap was given another one, or
            ``keep`` names a time that is not visited.
        ValueError: the model gave NaN (see :func:`~jumpbench.ops.checks.require`).
    """
    meter = Meter()
    counted: Lost = metered(lost, meter, "network", event_dims=len(shape) - 1)

    def checked(x: Tensor, k: int) -> Tensor:
        y = counted(x, k)
        # As an integer NaN is 0: a picture all black, as a rounded bridge may well draw it.
        require(y.sum().isnan().logical_not_(), "the expected losses of counts are NaN")
        return y

    revival = grid.revival(stride).tolist()
    x = process.sample_limit(*shape, device=device)
    visited = grid.visits(stride)
    if isinstance(step, PoissonLeap) and step.textbook is not None and step.stride != stride:
        raise UserError(f"PoissonLeap(stride={step.stride}) with stride={stride}: give both one")
    if unseen := sorted(set(keep) - {0, *visited}):
        raise UserError(f"keep={unseen}: with stride={stride} a sampler does not visit these times")
    path = []
    for k in visited:
        if k in keep:
            path.append(x)
        x = step(x, checked, k, revival[k], generator)
        if corrector is not None and k > stride:
            x = corrector(x, checked, k, k - stride, generator)
    if 0 in keep:
        path.append(x)
    cost = meter.per_sample(shape[0], meter.network / shape[0])
    return Draws(x, cost=cost, extras={"path": torch.stack(path, 1)} if path else {})
