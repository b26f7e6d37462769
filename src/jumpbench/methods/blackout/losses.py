"""The regression that trains Blackout, and its weights over the observation times.

All four weights have the same minimiser y = E[X_0 - X_t | X_t]. The paper's two are the terms of
the likelihood times 1 - e^(-t_k); the other two are those terms themselves.
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from jumpbench.processes.observation_times import ObservationTimes

# Below this log softplus(z) = z to float32 precision.
_LINEAR = -20.0


def log_softplus(z: Tensor) -> Tensor:
    """log log(1 + e^z), finite with finite gradients for every z."""
    # Both branches are evaluated: in the one not taken the argument is kept where its logarithm
    # has a gradient, for inf * 0 would be nan.
    return torch.where(z < _LINEAR, z, softplus(z.clamp(min=_LINEAR - 10)).log())


def regression(z: Tensor, lost: Tensor, share: Tensor | None = None) -> Tensor:
    """Mean over sites of y - D log y with y = c softplus(z), but for D log c; (B,) from (B, ...).

    float32 whatever the network's precision. Its minimiser in y is E[D | X].

    Args:
        share: c (B,), 1 by default.
    """
    z = z.float()
    y = softplus(z)
    if share is not None:
        y = y * share.view(-1, *[1] * (z.ndim - 1))
    return (y - lost.to(z.dtype) * log_softplus(z)).flatten(1).mean(1)


def instantaneous(grid: ObservationTimes) -> Tensor:
    """w_k = (t_k - t_(k-1)) e^(-t_k), (T + 1,), w_0 = 0 (eq. 14)."""
    return _steps(grid) * grid.survival


def finite_time(grid: ObservationTimes) -> Tensor:
    """w_k = e^(-t_(k-1)) - e^(-t_k), (T + 1,), w_0 = 0 (eq. 15)."""
    return grid.revival() * grid.loss


def instantaneous_likelihood(grid: ObservationTimes) -> Tensor:
    """w_k = (t_k - t_(k-1)) e^(-t_k) / (1 - e^(-t_k)), (T + 1,), w_0 = 0."""
    rates = grid.survival[1:] / grid.loss[1:]
    return _steps(grid) * torch.cat([rates.new_zeros(1), rates])


def finite_time_likelihood(grid: ObservationTimes) -> Tensor:
    """w_k = r_k, (T + 1,), w_0 = 0: the Kullback-Leibler divergence of Poisson steps."""
    return grid.revival()


def _steps(grid: ObservationTimes) -> Tensor:
    return torch.cat([grid.times.new_zeros(1), grid.times.diff()])
