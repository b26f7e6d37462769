"""Feynman-Kac steering with the maximum potential (Singhal et al. 2025)."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.baselines.smc import SMC, System
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.progress import reported
from jumpbench.samplers.resampling import multinomial, take


class Weighted(NamedTuple):
    """Particles at the end of their runs, before the last resampling.

    Attributes:
        particles: clean states x_0, (R, M, D).
        log_weights: log G_0 of each, (R, M), float64.
        log_normaliser: (R,), sum over all resamplings of the log of the mean potential; its
            exponential is an unbiased estimate of E[exp(tau L(x_0))] under the prior's sampler.
    """

    particles: Tensor
    log_weights: Tensor
    log_normaliser: Tensor


class FKMax(SMC):
    """SMC whose potential at time t is G_t = exp(tau max_{s >= t} L_s) along the ancestry.

    L_s is SMC's value of the particle's ancestor at time s, over the times with a resampling; the
    others have potential 1. The last potential, of the denoised sample itself, is
    G_0 = exp(tau L(x_0)) / prod_{t > 0} G_t, so that the product telescopes to exp(tau L(x_0)) on
    every path whatever the maxima were ("max" of Singhal et al. 2025, Feynman-Kac steering). Their
    released code puts the last maximum in place of L(x_0), and no maximum below 0.

    Args:
        settings: of :class:`SMC`.
        interval: reverse steps from one resampling to the next.

    Raises:
        UserError: an interval below 1.
    """

    def __init__(self, *args: Any, interval: int = 1, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if interval < 1:
            raise UserError(
                f"interval={interval}: steps from one resampling to the next, 1 or more"
            )
        self.interval = interval

    def valued_times(self, times: list[float]) -> list[float]:
        return times[self.interval : -1 : self.interval]

    def run(self, system: System, chains: Tensor, generator: torch.Generator) -> Tensor:
        end = self.weighted(system, chains, generator)
        ancestors = multinomial(end.log_weights, generator)
        return self.returned(take(end.particles, ancestors), generator)

    def weighted(self, system: System, chains: Tensor, generator: torch.Generator) -> Weighted:
        """The runs with the numbers ``chains`` (R,), up to the last resampling."""
        x = self.noise(system.prior, len(chains), generator)
        zero = torch.zeros(x.shape[:2], dtype=torch.float64, device=x.device)
        largest, log_product, log_normaliser = zero - torch.inf, zero, zero[:, 0]
        values = iter(system.values)
        steps = reported(system.proposals, self.n_steps)
        for step, propose in enumerate(steps, start=1):
            x, _ = propose(x, generator)
            if step % self.interval or step == self.n_steps:
                continue
            value = self.value(next(values), x, chains, generator)
            largest = torch.maximum(largest, value.double())
            log_potential = self.temperature * largest
            log_product = log_product + log_potential
            log_normaliser = log_normaliser + log_mean(log_potential)
            ancestors = multinomial(log_potential, generator)
            x, largest = take(x, ancestors), take(largest, ancestors)
            log_product = take(log_product, ancestors)
        x = system.last(x, generator).long()
        value = system.likelihood.log_likelihood(x, chains)
        log_weights = self.temperature * value - log_product
        return Weighted(x, log_weights, log_normaliser + log_mean(log_weights))

    def cost(self, system: System) -> tuple[Cost, int, int]:
        share = 1 if self.pooled else self.particles
        at_once = [*system.denoisers, system.last]
        draws = self.n_draws * [*system.denoisers] + [system.last]
        network = share * (self.n_steps + sum(draw.network_calls for draw in draws))
        counted = share * (self.n_steps + sum(draw.counted_calls for draw in draws))
        steps = self.n_steps + sum(draw.network_calls for draw in at_once)
        sequential = self.n_steps + sum(draw.counted_calls for draw in at_once)
        return Cost(network, share * len(draws), steps), counted, sequential


def log_mean(log_potential: Tensor) -> Tensor:
    """log of the mean (R,) over the particles of each run (R, M)."""
    return log_potential.logsumexp(-1) - math.log(log_potential.shape[-1])
