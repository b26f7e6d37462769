"""Noise schedules: how much noise a forward or reference process has accumulated at time t.

Every schedule gives the instantaneous rate sigma'(t), the accumulated noise sigma(t), the noise
G(s, t) = sigma(t) - sigma(s) of an interval, the factor exp(-G(s, t)) by which it shrinks what is
remembered, and the time at which a given noise is reached. Arguments are floats or tensors of any
shape; results are tensors (0-dimensional float64 for floats, which do not promote float32
tensors that they meet, whatever their device).
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor


def as_tensor(value: Tensor | float) -> Tensor:
    """``value`` as a floating tensor; a number becomes a 0-dimensional float64 tensor."""
    if isinstance(value, Tensor) and value.is_floating_point():
        return value
    return torch.as_tensor(value, dtype=torch.float64)


class Schedule(ABC):
    """Accumulated noise as a function of time. Time runs from clean to noisy."""

    @abstractmethod
    def rate(self, t: Tensor | float) -> Tensor:
        """sigma'(t) >= 0, noise per unit of time."""

    @abstractmethod
    def total(self, t: Tensor | float) -> Tensor:
        """sigma(t), the noise accumulated up to t (from before time 0 if sigma(0) > 0)."""

    @abstractmethod
    def inverse(self, sigma: Tensor | float) -> Tensor:
        """The time t at which sigma(t) = ``sigma``."""

    def integral(self, s: Tensor | float, t: Tensor | float) -> Tensor:
        """G(s, t), the integral of the rate over [s, t], for s <= t."""
        return self.total(t) - self.total(s)

    def decay(self, s: Tensor | float, t: Tensor | float) -> Tensor:
        """exp(-G(s, t)), in [0, 1]."""
        return torch.exp(-self.integral(s, t))


class Constant(Schedule):
    """sigma'(t) = gamma, G(s, t) = gamma (t - s)."""

    def __init__(self, gamma: float = 1.0) -> None:
        if not gamma > 0:
            raise ValueError(f"gamma is {gamma}; a constant schedule needs gamma > 0")
        self.gamma = gamma

    def rate(self, t: Tensor | float) -> Tensor:
        return torch.full_like(as_tensor(t), self.gamma)

    def total(self, t: Tensor | float) -> Tensor:
        return self.gamma * as_tensor(t)

    def inverse(self, sigma: Tensor | float) -> Tensor:
        return as_tensor(sigma) / self.gamma


class Geometric(Schedule):
    """sigma(t) = sigma_min^(1-t) sigma_max^t, so sigma(0) = sigma_min > 0 (SEDD; SGDD sec. 2).

    sigma'(t) = sigma(t) log(sigma_max / sigma_min). A sampler that stops at time 0 still has
    noise sigma_min to remove.
    """

    def __init__(self, sigma_min: float = 1e-4, sigma_max: float = 20.0) -> None:
        if not 0 < sigma_min < sigma_max:
            raise ValueError(
                f"sigma_min {sigma_min}, sigma_max {sigma_max}: need 0 < sigma_min < sigma_max"
            )
        self.sigma_min, self.sigma_max = sigma_min, sigma_max
        self._log_ratio = math.log(sigma_max / sigma_min)

    def rate(self, t: Tensor | float) -> Tensor:
        return self._log_ratio * self.total(t)

    def total(self, t: Tensor | float) -> Tensor:
        return self.sigma_min * torch.exp(self._log_ratio * as_tensor(t))

    def inverse(self, sigma: Tensor | float) -> Tensor:
        return torch.log(as_tensor(sigma) / self.sigma_min) / self._log_ratio

    def integral(self, s: Tensor | float, t: Tensor | float) -> Tensor:
        s, t = as_tensor(s), as_tensor(t)
        return self.total(s) * torch.expm1(self._log_ratio * (t - s))


class LogLinear(Schedule):
    """sigma(t) = -log(1 - (1 - eps) t): a token survives to t with probability 1 - (1 - eps) t.

    sigma'(t) = (1 - eps) / (1 - (1 - eps) t). The usual schedule of masked diffusion.
    """

    def __init__(self, eps: float = 1e-3) -> None:
        if not 0 < eps < 1:
            raise ValueError(f"eps is {eps}; a log-linear schedule needs 0 < eps < 1")
        self.eps = eps

    def rate(self, t: Tensor | float) -> Tensor:
        return (1 - self.eps) / (1 - (1 - self.eps) * as_tensor(t))

    def total(self, t: Tensor | float) -> Tensor:
        return -torch.log1p(-(1 - self.eps) * as_tensor(t))

    def inverse(self, sigma: Tensor | float) -> Tensor:
        return -torch.expm1(-as_tensor(sigma)) / (1 - self.eps)


class ModifiedLogLinear(Schedule):
    """sigma'(t) = gamma / (t + alpha), exp(-G(s, t)) = ((s + alpha) / (t + alpha))^gamma (DASBS).

    With alpha = 0 the noise of any interval that starts at 0 is infinite: the end forgets the
    start. ``decay(0, t)`` is then exactly 0 and ``integral(0, t)`` infinite, never NaN, and
    ``decay(0, 0)`` is 1; ``inverse`` raises ``ValueError``.
    """

    def __init__(self, gamma: float = 1.0, alpha: float = 0.5) -> None:
        if not (gamma > 0 and alpha >= 0):
            raise ValueError(f"gamma {gamma}, alpha {alpha}: need gamma > 0 and alpha >= 0")
        self.gamma, self.alpha = gamma, alpha

    def rate(self, t: Tensor | float) -> Tensor:
        return self.gamma / (as_tensor(t) + self.alpha)

    def total(self, t: Tensor | float) -> Tensor:
        return self.integral(0.0, t)

    def inverse(self, sigma: Tensor | float) -> Tensor:
        if self.alpha == 0:
            raise ValueError("alpha = 0 has infinite noise at every t > 0: give alpha > 0")
        return self.alpha * torch.expm1(as_tensor(sigma) / self.gamma)

    def integral(self, s: Tensor | float, t: Tensor | float) -> Tensor:
        s, t = as_tensor(s), as_tensor(t)
        # 1 - (s+alpha)/(t+alpha); an empty interval holds no noise, also at s = t = alpha = 0.
        shrink = torch.where(t == s, torch.zeros_like(s + t), (t - s) / (t + self.alpha))
        return -self.gamma * torch.log1p(-shrink)
