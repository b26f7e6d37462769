"""Discrete DPS: the reverse rates, each multiplied by how much its jump raises the likelihood."""

from itertools import pairwise

import torch
from torch import Tensor

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
from jumpbench.methods.sgdd.prior import CLEAN, Prior
from jumpbench.methods.sgdd.site_kernel import SiteKernel
from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.progress import reported

_CLAMP = 80.0


def tilted_step(prior: Prior, x: Tensor, log_ratios: Tensor, t: float, s: float) -> Tensor:
    """Probabilities (..., D, N) of an Euler step with rates to x' times p(y|x') / p(y|x).

    Eq. 52 and 53 of the paper, read as an elementwise product. Log-ratios (..., D, N) are clamped
    at 80 in absolute value; in float64, since e^80 times a score may leave float32.
    """
    ratio = log_ratios.double().clamp(-_CLAMP, _CLAMP).exp_()
    score = prior.score(x, t) * ratio
    return prior.process.euler_step(x, score, prior.schedule.rate(t), t - s)


class DPS:
    """p(y|x) estimated by p(y|x_0) for one clean state x_0, at x and at its D(N-1) neighbours.

    DPS takes E[x_0 | x] (sec. C.2.1); the paper does not say what stands for it where states are
    discrete. The most probable state has no randomness: a neighbour's ratio is what its one site
    changes. With a draw for every neighbour the ratios are those of independent draws, which a
    hard likelihood turns into noise (Table 4). All sites move at once; a denoising draw without
    tilt ends the chain.

    Args:
        n_steps: reverse steps.
        x0_steps: None for the most probable clean state; otherwise reverse steps of a fresh draw,
            0 for one exact denoising draw.
        chunk: chains that run side by side, None for all (see :func:`in_chunks`).

    Raises:
        UserError: a number below one.
    """

    def __init__(self, n_steps: int, x0_steps: int | None, chunk: int | None = None) -> None:
        at_least_one(n_steps=n_steps)
        self.n_steps, self.x0_steps, self.chunk = n_steps, x0_steps, chunk

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D)."""
        times = sampling_times(self.n_steps)
        denoisers = clean_estimates(prior, times[:-1], self.x0_steps)
        values = mean_values(denoisers, likelihood, n_draws=1)
        last = prior.denoisers([CLEAN], 0)[0]

        def run(chains: Tensor) -> Tensor:
            x = prior.noise(len(chains), generator)
            steps = zip(pairwise(times), values, strict=True)
            for (t, s), value in reported(steps, self.n_steps):
                log_ratios = drawn_log_ratios(value, x, chains, prior.n_states, generator)
                law = tilted_step(prior, x, log_ratios, t, s)
                x = sample_categorical(law, generator).to(x.dtype)
            return last(x, generator).long()

        states = prior.length * (prior.n_states - 1) + 1
        samples = in_chunks(run, likelihood, n_chains, self.chunk, generator.device)
        return drawn(samples, *search_cost(denoisers, last, states))


def drawn_log_ratios(
    value: MeanValue, x: Tensor, chains: Tensor, n_states: int, generator: torch.Generator
) -> Tensor:
    """value(x') - value(x), (B, D, N), with fresh draws at all one-site neighbours x' of x."""
    length = x.shape[1]
    # Neighbour (i, k) adds k = 1..N-1 to site i, modulo N: (B, D, N-1, D).
    shift = torch.arange(1, n_states, device=x.device, dtype=x.dtype)
    token = (x[..., None] + shift).remainder_(n_states)
    neighbours = x[:, None, None].expand(-1, length, n_states - 1, -1).contiguous()
    neighbours.diagonal(dim1=1, dim2=3).copy_(token.transpose(1, 2))
    there, here = value(neighbours, chains, generator), value(x, chains, generator)
    ratios = there.new_zeros(*x.shape, n_states)
    return ratios.scatter_(2, token.long(), there - here[:, None, None])


class ExactDPS:
    """DPS with p(y|x) = prod_i E[p(y_i|x_0,i) | x_i] in closed form.

    For product priors and likelihoods that factor over sites: every step is then one draw per
    site from a table.

    Args:
        n_steps: reverse steps.

    Raises:
        UserError: no step.
    """

    def __init__(self, n_steps: int) -> None:
        at_least_one(n_steps=n_steps)
        self.n_steps = n_steps

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D).

        Raises:
            ValueError: the likelihood does not factor over sites.
        """
        table = likelihood.site_log_likelihood()
        if table is None or table.ndim != 2:
            raise ValueError(
                "exact DPS needs a likelihood that factors over sites, the same for all chains"
            )
        n_states, length = prior.n_states, prior.length
        symbols = torch.arange(n_states)[:, None].expand(-1, length)
        laws = []
        for t, s in pairwise(sampling_times(self.n_steps)):
            clean = prior.clean_probabilities(symbols, t).double()
            value = (clean.log() + table.double().cpu()).logsumexp(-1).T  # (D, N)
            step = tilted_step(prior, symbols, value - value.T[..., None], t, s)
            laws.append(step.transpose(0, 1).reshape(length * n_states, n_states))
        x = prior.noise(n_chains, generator)
        row = torch.arange(length, device=x.device, dtype=torch.int32) * n_states
        for kernel in SiteKernel.stack(torch.stack(laws)):
            x = kernel(x + row, generator)
        x = prior.denoisers([CLEAN], 0)[0](x, generator)
        cost = Cost(2 * self.n_steps + 1, self.n_steps, self.n_steps + 1)
        return drawn(x, cost, 2 * self.n_steps)
