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

    Exact but for E log U!, U = D - d ~ Binomial(D, 1 - r), which is estimated by one draw,

        log U! - log(1 + (1 - r)(D - 1)) (U - (1 - r) D).

    What is subtracted has mean 0 and nearly the best slope, E log(V + 1) with V ~ Binomial(D - 1,
    1 - r): of the noise about r / sqrt(2) is left, and none where D <= 1.

    Args:
        lost: D (...).
        y: the model's mean, clipped here to [1e-6, M - X].
        revival: r, broadcastable.
        room: M - X (...).
        unrevived: a draw of Binomial(D, 1 - r) (...).
    """
    lost, room, r, y = torch.broadcast_tensors(*(v.double() for v in (lost, room, revival, y)))
    y = torch.minimum(y.clamp(min=SMALLEST), room.clamp(min=SMALLEST))
    mean = r * y
    unrevived, left = unrevived.double(), (1 - r) * lost
    slope = torch.log1p((1 - r) * (lost - 1).clamp(min=0))
    value = torch.lgamma(lost + 1) - torch.lgamma(unrevived + 1) + slope * (unrevived - left)
    value = value - r * xlogy(lost, y) + lost * xlogy(1 - r, 1 - r) + mean
    # All of the Poisson's mass at or above M - X lies on M - X, which d reaches where D = M - X.
    full = (lost == room) & (room > 0)
    tail = r**lost * log_tail_ratio(room.clamp(min=1), mean)
    value = torch.where(full, value - tail, value)
    return torch.where(room > 0, value, 0.0)


def log_tail_ratio(count: Tensor, mean: Tensor) -> Tensor:
    """log(P(N >= n) / P(N = n)) of N ~ Poisson(mean), n = ``count`` >= 1, float64.

    Where the tail is too small for a number, 1 + m/(n+1) + m^2/((n+1)(n+2)) + ... is summed: 40
    terms, all positive, so that a bound made of it stays one.
    """
    log_one = count * mean.log() - mean - torch.lgamma(count + 1)
    tail = gammainc(count, mean)
    value = tail.log() - log_one
    series = torch.ones_like(mean)
    for term in range(40, 0, -1):
        series = 1 + series * mean / (count + term)
    return torch.where(tail < 1e-290, series.log(), value)


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

    Summed over all survivors 0..M, once for each value of X_0.
    """
    q, p = (torch.tensor(v, dtype=torch.float64, device=start.device) for v in (survival, loss))
    counts = torch.arange(maximum + 1, device=start.device)
    total = torch.zeros(maximum + 1, dtype=torch.float64, device=start.device)
    for left in counts:
        ours, widest = log_binomial(left, counts, q, p), log_binomial(left, counts[-1], q, p)
        total += torch.where(ours.isfinite(), ours.exp() * (ours - widest), 0.0)
    return total[start.long()]


def bound(
    mean_lost: Callable[[Tensor, Tensor], Tensor],
    process: PureDeath,
    grid: ObservationTimes,
    start: Tensor,
    generator: torch.Generator,
    strata: int = 1,
    bernoulli: bool = False,
) -> Tensor:
    """Unbiased estimates (B,) of B(X_0) in nats.

    Their mean over images estimates an upper bound; that of a single image is too noisy to be one.
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
