"""Are these chains long enough: autocorrelation time and potential scale reduction."""

import torch
from torch import Tensor

from jumpbench.errors import UserError


def autocorrelation(x: Tensor) -> Tensor:
    """Autocorrelation of parallel chains, (..., chains, n) -> (..., n), 1 at lag 0; float64.

    Deviations are from the mean over ALL chains, and autocovariances are averaged over chains, so
    chains that disagree show up as correlation that does not decay. The sum over pairs at a lag is
    divided by their number. NaN for a constant.
    """
    if x.ndim < 2 or x.shape[-1] < 2:
        raise UserError(f"chains must have shape (..., chains, n >= 2), not {tuple(x.shape)}")
    x = _from_first(x)
    n = x.shape[-1]
    deviation = x - x.mean((-2, -1), keepdim=True)
    power = torch.fft.rfft(deviation, 2 * n).abs().square()
    pairs = torch.arange(n, 0, -1, device=x.device)
    covariance = torch.fft.irfft(power, 2 * n)[..., :n].mean(-2) / pairs
    return covariance / covariance[..., :1]


def integrated_autocorrelation_time(x: Tensor, window: float = 5.0) -> Tensor:
    """tau = 1 + 2 sum of rho(k) over 1 <= k <= M, (..., chains, n) -> (...) float64.

    M is the smallest lag with M >= ``window`` max(1, tau(M)): Sokal's rule, which without the 1
    stops too early in chains that alternate. In units of the spacing of
    the draws: ``chains n / tau`` draws are worth as many independent ones. 1 for a constant,
    which no longer chain could tell from a mixed one.
    """
    rho = autocorrelation(x).nan_to_num(nan=0.0)
    tau = 2 * rho[..., 1:].cumsum(-1) + 1
    lag = torch.arange(1, x.shape[-1], device=x.device)
    enough = lag >= window * tau.clamp(min=1)
    # Where no lag is enough the chains are too short; the last one is the best guess.
    stop = torch.where(enough.any(-1), enough.byte().argmax(-1), x.shape[-1] - 2)
    return tau.gather(-1, stop.unsqueeze(-1)).squeeze(-1)


def rank_normalized(x: Tensor) -> Tensor:
    """Normal scores of the pooled ranks of (..., chains, n), ties by average rank; float64.

    z = quantile of the standard normal at (rank - 3/8) / (S + 1/4) (Vehtari et al. 2021).
    """
    flat = x.double().flatten(-2).contiguous()
    ordered = flat.sort(-1).values
    below = torch.searchsorted(ordered, flat)
    rank = (below + torch.searchsorted(ordered, flat, right=True) + 1) / 2
    quantile = (rank - 0.375) / (flat.shape[-1] + 0.25)
    return torch.special.ndtri(quantile.double()).view(x.shape)


def split_rhat(x: Tensor) -> Tensor:
    """Potential scale reduction of half chains, (..., chains, n) -> (...) float64.

    sqrt( ((h - 1) W + B) / (h W) ) with h = n // 2, W the mean variance within the half chains
    and B/h the variance of their means. Near 1 when chains and halves agree; 1 for a constant,
    infinite if every half chain is constant and they differ. Apply to :func:`rank_normalized` for
    heavy tails.
    """
    half = x.shape[-1] // 2
    if x.ndim < 2 or half < 2:
        raise UserError(f"chains must have shape (..., chains, n >= 4), not {tuple(x.shape)}")
    x = _from_first(x)
    halves = torch.cat((x[..., :half], x[..., -half:]), -2)
    within = halves.var(-1).mean(-1)
    between = halves.mean(-1).var(-1)
    ratio = ((half - 1) / half + between / within).sqrt()
    return torch.where(between == 0, torch.ones_like(ratio), ratio)


def _from_first(x: Tensor) -> Tensor:
    """x less its first number, float64: a constant is exactly 0, whatever the mean rounds to."""
    x = x.double()
    return x - x[..., :1, :1]
