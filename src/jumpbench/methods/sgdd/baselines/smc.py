"""Sequential Monte Carlo with the unconditional reverse step as proposal."""

import math

import torch
from torch import Tensor

from jumpbench.methods.sgdd.baselines.common import in_chunks, sampling_times, search_cost
from jumpbench.methods.sgdd.baselines.site_values import mean_values
from jumpbench.methods.sgdd.interface import drawn
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.resampling import multinomial, take


class SMC:
    """Particles weighted by exp(tau (L_t(x_t) - L_{t+1}(parent))), resampled at every step.

    L_t(x) = log mean p(y|x_0) over ``n_draws`` clean draws; 0 before the first step. Resampling
    is multinomial and a particle keeps its L. One particle, drawn uniformly, is returned per
    independent run: those of one run share ancestors, and pooling them would make ten thousand
    samples look worse than they are.

    Args:
        particles: per run.
        n_steps: reverse steps.
        x0_steps: reverse steps of a clean draw, 0 for one exact denoising draw.
        n_draws: clean draws per particle and step.
        temperature: tau.
        chunk: runs side by side, None for all (see :func:`in_chunks`).
    """

    def __init__(
        self,
        particles: int,
        n_steps: int,
        x0_steps: int,
        n_draws: int,
        temperature: float = 1.0,
        chunk: int | None = None,
    ) -> None:
        self.particles, self.n_steps, self.x0_steps = particles, n_steps, x0_steps
        self.n_draws, self.temperature, self.chunk = n_draws, temperature, chunk

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D), each from a run of its own."""
        times = sampling_times(self.n_steps)
        moves = prior.reverse_steps(times)
        denoisers = prior.denoisers(times[1:], self.x0_steps)
        values = mean_values(denoisers, likelihood, n_draws=1)
        last = prior.denoisers([CLEAN], 0)[0]

        def run(chains: Tensor) -> Tensor:
            shape = (len(chains), self.particles)
            x = prior.noise(math.prod(shape), generator).view(*shape, -1)
            value = torch.zeros(shape, device=x.device, dtype=torch.float64)
            for move, draw_value in zip(moves, values, strict=True):
                x = move(x, generator)
                draws = torch.stack([draw_value(x, chains, generator) for _ in range(self.n_draws)])
                new_value = draws.logsumexp(0) - math.log(self.n_draws)
                parents = multinomial(self.temperature * (new_value - value), generator)
                x, value = take(x, parents), take(new_value, parents)
            one = torch.randint(self.particles, shape[:1], generator=generator, device=x.device)
            return last(x[torch.arange(len(x), device=x.device), one], generator).long()

        samples = in_chunks(run, likelihood, n_chains, self.chunk, generator.device)
        return drawn(samples, *search_cost(denoisers, last, self.n_draws, self.particles))
