"""Sequential Monte Carlo: proposals from the reverse step, weighted by values of clean draws."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.baselines.common import (
    at_least_one,
    clean_estimates,
    in_chunks,
    sampling_times,
    search_cost,
)
from jumpbench.methods.sgdd.baselines.site_values import MeanValue, mean_values
from jumpbench.methods.sgdd.interface import drawn
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior, Transition
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.progress import reported
from jumpbench.samplers.resampling import multinomial, take

Proposal = Callable[[Tensor, torch.Generator], tuple[Tensor, Tensor | float]]
"""(R, M, D) -> the next states, and log p(next | x) - log q(next | x) of each, (R, M)."""


class System(NamedTuple):
    """Parts of a particle system: a proposal for each step, the clean estimates whose values weigh
    particles, and the denoising draw that ends a run.
    """

    prior: Prior
    likelihood: Likelihood
    proposals: Sequence[Proposal]
    denoisers: Sequence[Transition]
    values: Sequence[MeanValue]
    last: Transition


class SMC:
    """Particles weighted by exp(tau (L_t(x_t) - L_{t+1}(parent))), resampled at every step.

    L_t(x) = log mean p(y|x_0) over ``n_draws`` clean draws; 0 before the first step. Resampling
    is multinomial and a particle keeps its L. One particle, drawn uniformly, is returned per
    independent run: those of one run share ancestors, and pooling them would make ten thousand
    samples look worse than they are.

    Args:
        particles: per run.
        n_steps: reverse steps.
        x0_steps: reverse steps of a clean draw, 0 for one exact denoising draw, None for the most
            probable symbol of each site.
        n_draws: clean draws per particle and step.
        temperature: tau.
        chunk: runs side by side, None for all (see :func:`in_chunks`).
        pooled: return all particles of each run, not one; then as many chains as ``particles``
            are one run.

    Raises:
        UserError: a number below one, a negative temperature.
    """

    extra_calls = 0
    """Network evaluations of a proposal beyond its score."""

    def __init__(
        self,
        particles: int,
        n_steps: int,
        x0_steps: int | None,
        n_draws: int,
        temperature: float = 1.0,
        chunk: int | None = None,
        pooled: bool = False,
    ) -> None:
        at_least_one(particles=particles, n_steps=n_steps, n_draws=n_draws)
        if not temperature >= 0:
            raise UserError(f"temperature={temperature}: give 0 or more")
        self.particles, self.n_steps, self.x0_steps = particles, n_steps, x0_steps
        self.n_draws, self.temperature, self.chunk = n_draws, temperature, chunk
        self.pooled = pooled

    def proposals(self, prior: Prior, likelihood: Likelihood, times: list[float]) -> list[Proposal]:
        """One for each step; here the unconditional reverse steps."""
        return [_unweighted(move) for move in prior.reverse_steps(times)]

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D), each from a run of its own unless ``pooled``.

        Raises:
            UserError: pooled, and the chains are no multiple of the particles, or have
                measurements of their own.
        """
        runs = n_chains
        if self.pooled:
            if n_chains % self.particles or likelihood.n_observations is not None:
                raise UserError(
                    f"pooled=true: {n_chains} chains must be runs of {self.particles} particles "
                    "each, with one measurement for all"
                )
            runs = n_chains // self.particles
        system = self.system(prior, likelihood)

        def run(chains: Tensor) -> Tensor:
            return self.run(system, chains, generator)

        samples = in_chunks(run, likelihood, runs, self.chunk, generator.device)
        return drawn(samples, *self.cost(system))

    def system(self, prior: Prior, likelihood: Likelihood) -> System:
        times = sampling_times(self.n_steps)
        proposals = self.proposals(prior, likelihood, times)
        denoisers = clean_estimates(prior, self.valued_times(times), self.x0_steps)
        values = mean_values(denoisers, likelihood, n_draws=1)
        last = prior.denoisers([CLEAN], 0)[0]
        return System(prior, likelihood, proposals, denoisers, values, last)

    def valued_times(self, times: list[float]) -> list[float]:
        """At which particles are weighted by their clean draws; here after every step."""
        return times[1:]

    def run(self, system: System, chains: Tensor, generator: torch.Generator) -> Tensor:
        """Samples (R, D), or (R M, D) if pooled, of the runs with the numbers ``chains`` (R,)."""
        x = self.noise(system.prior, len(chains), generator)
        parent: Tensor | float = 0.0
        steps = zip(system.proposals, system.values, strict=True)
        for propose, draw_value in reported(steps, self.n_steps):
            x, log_ratio = propose(x, generator)
            value = self.value(draw_value, x, chains, generator)
            log_weight = self.temperature * (value - parent) + log_ratio
            ancestors = multinomial(log_weight, generator)
            x, parent = take(x, ancestors), take(value, ancestors)
        return system.last(self.returned(x, generator), generator).long()

    def noise(self, prior: Prior, runs: int, generator: torch.Generator) -> Tensor:
        """Particles (R, M, D) before the first step."""
        return prior.noise(runs * self.particles, generator).view(runs, self.particles, -1)

    def value(
        self, draw_value: MeanValue, x: Tensor, chains: Tensor, generator: torch.Generator
    ) -> Tensor:
        """L (R, M): log of the mean likelihood of ``n_draws`` clean draws of each particle."""
        draws = torch.stack([draw_value(x, chains, generator) for _ in range(self.n_draws)])
        return draws.logsumexp(0) - math.log(self.n_draws)

    def returned(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Of equally weighted particles (R, M, D): one of each run, or all if ``pooled``."""
        if self.pooled:
            return x.flatten(0, 1)
        one = torch.randint(self.particles, x.shape[:1], generator=generator, device=x.device)
        return x[torch.arange(len(x), device=x.device), one]

    def cost(self, system: System) -> tuple[Cost, int, int]:
        """Of one sample: its cost, network evaluations as tables count them, those in sequence."""
        share = 1 if self.pooled else self.particles
        cost, counted, sequential = search_cost(system.denoisers, system.last, self.n_draws, share)
        further = share * self.n_steps * self.extra_calls
        extra = self.n_steps * self.extra_calls
        cost += Cost(further, further, extra)
        return cost, counted + further, sequential + extra


def _unweighted(move: Callable[[Tensor, torch.Generator], Tensor]) -> Proposal:
    return lambda x, generator: (move(x, generator), 0.0)
