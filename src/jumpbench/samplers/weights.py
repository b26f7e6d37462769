"""Importance weights in log space, and the integrals along paths that make them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.samplers.jumps import JumpStep


def log_mean_exp(log_weights: Tensor, dim: int = -1) -> Tensor:
    """log of the mean of exp(log_weights) along ``dim``, in float64."""
    return log_weights.double().logsumexp(dim) - math.log(log_weights.shape[dim])


def effective_sample_size(log_weights: Tensor, dim: int = -1) -> Tensor:
    """The share (mean w)^2 / mean w^2 along ``dim``, in [0, 1]: 1 for equal weights, 1/M for one of
    M, 0 where no weight is positive.
    """
    log_ess = 2 * log_mean_exp(log_weights, dim) - log_mean_exp(2 * log_weights.double(), dim)
    return log_ess.exp().nan_to_num(nan=0.0)


def log_normaliser(
    log_weights: Tensor, log_start: float = 0.0, dim: int = -1
) -> tuple[Tensor, Tensor]:
    """Estimate of log Z from weights of mean Z / Z_start, and its standard error (delta method).

    log Z = ``log_start`` + log mean w, with standard error sqrt((1 / ESS - 1) / (M - 1)), M the
    number of weights. By Jensen's inequality the estimate is low on average.
    """
    size = log_weights.shape[dim]
    estimate = log_start + log_mean_exp(log_weights, dim)
    spread = 1 / effective_sample_size(log_weights, dim) - 1
    return estimate, (spread.clamp(min=0) / max(size - 1, 1)).sqrt()


class PathIntegral:
    """A hook that sums step weight times integrand(state, time), at each step's start.

    Attributes:
        value: the integral so far (B,), in float64; 0 before the first step.
    """

    def __init__(self, integrand: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.integrand = integrand
        self.value = torch.zeros(())

    def __call__(self, step: JumpStep) -> None:
        self.value = self.value + (step.weight * self.integrand(step.before, step.time)).double()
