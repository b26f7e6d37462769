"""Estimates of d/dt log Z_t from trajectories, one number per grid time and law.

Each takes f = d/dt log p~_t and xi = f - g, (K + 1, L, m) of L laws and m trajectories each, to
(K + 1, L). g = sum_y R(x, y) p_t(y) / p_t(x) has mean zero under p_t, so it is a control variate
of f; at the optimum g = f - d/dt log Z_t, correlation +1 (the paper's appendix A.2 has the sign
reversed).
"""

from collections.abc import Callable

from torch import Tensor

Estimate = Callable[[Tensor, Tensor], Tensor]


def control_variate(slopes: Tensor, integrands: Tensor) -> Tensor:
    """mean xi: the control variate with coefficient 1, the minimiser of the empirical loss."""
    return integrands.mean(-1)


def plain_mean(slopes: Tensor, integrands: Tensor) -> Tensor:
    """mean f: biased unless trajectories follow p_t (Figure 1's other estimator)."""
    return slopes.mean(-1)


def fitted_control_variate(slopes: Tensor, integrands: Tensor) -> Tensor:
    """mean f - b mean g with b = Cov(f, g) / Var(g), fitted to the same trajectories (ours)."""
    control = slopes - integrands
    deviation = control - control.mean(-1, keepdim=True)
    covariance = (deviation * slopes).mean(-1)
    coefficient = covariance / deviation.square().mean(-1).clamp(min=1e-12)
    return slopes.mean(-1) - coefficient * control.mean(-1)
