"""An upper bound on the negative log-likelihood of Blackout's sampler (not in the paper).

For a sampler that starts from Binomial(M, e^(-t_T)) and steps with clipped Poisson leaps of mean
r_k y (for M = 1 also: Bernoulli steps, stochastic rounding's), per image

    B(X_0) = sum_k E KL(Binomial(D, r_k) || P_k) + KL(Binomial(X_0, e^-t_T) || Binomial(M, e^-t_T)),

D = X_0 - X_(t_k), summed over sites. The bridge with rounding has no finite bound for M > 1: it
cannot bring back more than ceil(y) units.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.special import gammainc, xlogy

from jumpbench.processes.counts import log_binomial
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import ObservationTimes

SMALLEST = 1e-6


def poisson_divergence(
    lost: Tensor, y: Tensor, revival: Tensor, room: Tensor, unrevived: Tensor
) -> Tensor:
    """KL(Binomial(D, r) || min(Poisson(r y), M - X)) per site, (...), float64.

    Exact but for E log (D - d)!, d ~ Binomial(D, r), which is estimated by one draw.

    Args:
        lost: D (...).
        y: the model's mean, clipped here to [1e-6, M - X].
        revival: r, broadcastable.
        room: M - X (...).
        unrevived: a draw of Binomial(D, 1 - r) (...).
    """
    lost, room, r = lost.double(), room.double(), revival.double()
    y = torch.minimum(y.double().clamp(min=SMALLEST), room.clamp(min=SMALLEST))
    mean = r * y
    value = torch.lgamma(lost + 1) - torch.lgamma(unrevived.double() + 1)
    value = value - r * xlogy(lost, y) + lost * xlogy(1 - r, 1 - r) + mean
    # All of the Poisson's mass at or above M - X lies on M - X, which d reaches where D = M - X.
    log_one = room * mean.log() - mean - torch.lgamma(room + 1)
    tail = gammainc(room.clamp(min=1.0), mean).clamp(min=1e-300).log()
    gained = torch.where((lost == room) & (room > 0), r**lost * (tail - log_one), 0.0)
    return torch.where(room > 0, value - gained, 0.0)


def bernoulli_divergence(lost: Tensor, y: Tensor, revival: Tensor, room: Tensor) -> Tensor:
    """KL(Binomial(D, r) || Bernoulli(r y)) per site of binary counts, (...), float64."""
    lost, r = lost.double(), revival.double()
    y = y.double().clamp(SMALLEST, 1 - SMALLEST)
    # D = 1: r log(1 / y) + (1 - r) log((1 - r) / (1 - r y)); D = 0: -log(1 - r y)
    stay = xlogy(1 - r, 1 - r) - (1 - r) * torch.log1p(-r * y)
    value = torch.where(lost > 0, stay - r * y.log(), -torch.log1p(-r * y))
    return torch.where(room > 0, value, 0.0)


def prior_divergence(start: Tensor, maximum: int, survival: float, loss: float) -> Tensor:
    """KL(Binomial(X_0, q) || Binomial(M, q)) per site, (...), float64.

    Summed up to 8 survivors; at t_T = 10 and 255 units the next term is below 1e-16.
    """
    q, p = (torch.tensor(v, dtype=torch.float64, device=start.device) for v in (survival, loss))
    total = torch.zeros_like(start, dtype=torch.float64)
    top = torch.tensor(maximum, device=start.device)
    for left in range(min(maximum, 8) + 1):
        value = torch.tensor(left, device=start.device)
        ours, widest = log_binomial(value, start, q, p), log_binomial(value, top, q, p)
        total += torch.where(ours.isfinite(), ours.exp() * (ours - widest), 0.0)
    return total


def bound(
    mean_lost: Callable[[Tensor, Tensor], Tensor],
    process: PureDeath,
    grid: ObservationTimes,
    start: Tensor,
    generator: torch.Generator,
    strata: int = 1,
    bernoulli: bool = False,
) -> Tensor:
    """Estimates (B,) of B(X_0) in nats, unbiased.

    The step k = 1, where r = 1, is evaluated for every image, the others at ``strata`` of the
    times 2..T, one from each equal part of them, with weight (T - 1) / strata.

    Args:
        mean_lost: states (B, ...) and indices (B,) -> y (B, ...).
        start: X_0 (B, ...).
    """
    batch = len(start)
    sites = [1] * (start.ndim - 1)
    tables = [value.to(start.device) for value in (grid.survival, grid.loss, grid.revival())]

    def term(k: Tensor) -> Tensor:
        survival, loss, r = (table[k].view(-1, *sites) for table in tables)
        x = process.observed(start, survival, loss, generator)
        y = mean_lost(x, k)
        lost, room = start - x, process.maximum - x
        if bernoulli:
            sites_kl = bernoulli_divergence(lost, y, r, room)
        else:
            unrevived = process.survivors(lost, 1 - r, generator)
            sites_kl = poisson_divergence(lost, y, r, room, unrevived)
        return sites_kl.flatten(1).sum(1)

    first = torch.ones(batch, dtype=torch.long, device=start.device)
    total = term(first)
    width = (grid.steps - 1) / strata
    for part in range(strata):
        u = torch.rand(batch, generator=generator, device=start.device, dtype=torch.float64)
        # images of a batch share out each part evenly among them
        u = (torch.randperm(batch, generator=generator, device=start.device) + u) / batch
        k = (2 + ((part + u) * width).floor().long()).clamp(max=grid.steps)
        total = total + term(k) * width
    last = prior_divergence(start, process.maximum, float(grid.survival[-1]), float(grid.loss[-1]))
    return total + last.flatten(1).sum(1)
