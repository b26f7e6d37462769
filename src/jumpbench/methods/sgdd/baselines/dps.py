"""Discrete DPS: the reverse rates, each multiplied by how much its jump raises the likelihood."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from jumpbench.methods.sgdd.baselines.common import sampling_times
from jumpbench.methods.sgdd.interface import SamplerInfo
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior, Transition
from jumpbench.samplers.categorical import sample_categorical

_CLAMP = 80.0
LogRatios = Callable[[Tensor, torch.Generator], Tensor]


class Tilt(Protocol):
    """log p(y|x') - log p(y|x) for all one-site neighbours x' of noisy states x, at given times."""

    def at(self, prior: Prior, likelihood: Likelihood, times: Sequence[float]) -> list[LogRatios]:
        """One function per time, from states (B, D) to log-ratios (B, D, N)."""
        ...

    def cost(self, prior: Prior) -> tuple[int, int]:
        """Score and likelihood evaluations per state and time."""
        ...


class DrawnTilt:
    """p(y|x) estimated by p(y|x_0) for one draw of x_0 from the denoiser at x.

    A fresh draw for each of the D(N-1) neighbours and for x itself.

    Args:
        x0_steps: reverse steps of a clean draw, 0 for one exact denoising draw.
    """

    def __init__(self, x0_steps: int = 1) -> None:
        self.x0_steps = x0_steps

    def at(self, prior: Prior, likelihood: Likelihood, times: Sequence[float]) -> list[LogRatios]:
        denoisers = prior.denoisers(times, self.x0_steps)
        return [self._log_ratios(prior, likelihood, denoiser) for denoiser in denoisers]

    def cost(self, prior: Prior) -> tuple[int, int]:
        states = prior.length * (prior.n_states - 1) + 1
        return states * (self.x0_steps + 1), states

    @staticmethod
    def _log_ratios(prior: Prior, likelihood: Likelihood, denoiser: Transition) -> LogRatios:
        length, n_states = prior.length, prior.n_states

        def log_ratios(x: Tensor, generator: torch.Generator) -> Tensor:
            # Neighbour (i, k) adds k = 1..N-1 to site i, modulo N: (B, D, N-1, D).
            shift = torch.arange(1, n_states, device=x.device, dtype=x.dtype)
            token = (x[..., None] + shift).remainder_(n_states)
            neighbours = x[:, None, None].expand(-1, length, n_states - 1, -1).contiguous()
            neighbours.diagonal(dim1=1, dim2=3).copy_(token.transpose(1, 2))
            there = likelihood.log_likelihood(denoiser(neighbours, generator))
            here = likelihood.log_likelihood(denoiser(x, generator))
            ratios = there.new_zeros(*x.shape, n_states)
            return ratios.scatter_(2, token.long(), there - here[:, None, None])

        return log_ratios


class ExactTilt:
    """p(y|x) = prod_i E[p(y_i|x_0,i) | x_i], for product priors and site-wise likelihoods.

    Raises:
        ValueError: the likelihood does not factor over sites.
    """

    def at(self, prior: Prior, likelihood: Likelihood, times: Sequence[float]) -> list[LogRatios]:
        table = likelihood.site_log_likelihood()
        if table is None:
            raise ValueError("the exact tilt needs a likelihood that factors over sites")
        symbols = torch.arange(prior.n_states)[:, None].expand(-1, prior.length)
        values = []
        for t in times:
            clean = prior.clean_probabilities(symbols, t).double()
            value = torch.logsumexp(clean.log() + table.double().cpu(), -1).T
            values.append(value.float())
        return [self._log_ratios(value) for value in values]

    def cost(self, prior: Prior) -> tuple[int, int]:
        return 1, 1

    @staticmethod
    def _log_ratios(value: Tensor) -> LogRatios:
        def log_ratios(x: Tensor, generator: torch.Generator) -> Tensor:
            at = value.to(x.device).expand(len(x), -1, -1)
            return at - at.gather(2, x.long()[..., None])

        return log_ratios


class DPS:
    """Euler steps of the tilted reverse process: rate to x' times p(y|x') / p(y|x).

    The paper's eq. 52 and 53, read as an elementwise product of rates and likelihood ratios; all
    sites move at once, log-ratios are clamped at 80 in absolute value.

    Args:
        tilt: how the ratios are estimated.
        n_steps: reverse steps; a denoising draw without tilt ends the chain.
    """

    def __init__(self, tilt: Tilt, n_steps: int = 100) -> None:
        self.tilt, self.n_steps = tilt, n_steps

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> tuple[Tensor, SamplerInfo]:
        """Samples (n_chains, D) and the cost of one of them."""
        times = sampling_times(self.n_steps)
        tilts = self.tilt.at(prior, likelihood, times[:-1])
        x = prior.noise(n_chains, generator)
        for t, s, log_ratios in zip(times[:-1], times[1:], tilts, strict=True):
            # e^80 times a score may leave float32.
            ratio = log_ratios(x, generator).double().clamp_(-_CLAMP, _CLAMP).exp_()
            score = prior.score(x, t) * ratio
            law = prior.process.euler_step(x, score, prior.schedule.rate(t), t - s)
            x = sample_categorical(law, generator).to(x.dtype)
        x = prior.denoisers([CLEAN], 0)[0](x, generator)
        scores, values = self.tilt.cost(prior)
        return x.long(), SamplerInfo(None, self.n_steps * (scores + 1) + 1, self.n_steps * values)
