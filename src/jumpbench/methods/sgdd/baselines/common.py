"""What the baselines share: the grid of the unconditional sampler and values of clean draws."""

import torch
from torch import Tensor

from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Transition


def sampling_times(n_steps: int) -> list[float]:
    """t_i = 1 - (1 - CLEAN) i / n, i = 0..n: from noise to (almost) clean."""
    return [1 - (1 - CLEAN) * i / n_steps for i in range(n_steps + 1)]


def clean_log_likelihoods(
    x: Tensor,
    denoiser: Transition,
    likelihood: Likelihood,
    n_draws: int,
    generator: torch.Generator,
) -> Tensor:
    """log p(y|x_0) of ``n_draws`` independent draws of x_0 given x (..., D): (n_draws, ...)."""
    return torch.stack([likelihood.log_likelihood(denoiser(x, generator)) for _ in range(n_draws)])
