"""SVDD-PM: at every reverse step, the best of M candidates by the value of their clean draws."""

import torch
from torch import Tensor

from jumpbench.methods.sgdd.baselines.common import (
    at_least_one,
    clean_estimates,
    in_chunks,
    sampling_times,
    search_cost,
)
from jumpbench.methods.sgdd.baselines.site_values import mean_values
from jumpbench.methods.sgdd.interface import drawn
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior, Stepper, Transition
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.progress import reported


def several(move: Transition, x: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Independent draws (B, count, D) of a reverse step of states (B, D)."""
    if isinstance(move, Stepper):  # its network sees each state once
        return move.several(x, count, generator)
    return move(x[:, None].expand(-1, count, -1), generator)


class SVDD:
    """Soft value-based decoding with posterior-mean values, at zero temperature.

    Each chain draws M candidates of the next state from the unconditional reverse step and keeps
    the one with the largest mean log p(y|x_0), x_0 drawn ``n_draws`` times from the denoiser at
    the new time. Chains never interact; one sample per chain.

    Args:
        candidates: M.
        n_steps: reverse steps.
        x0_steps: reverse steps of a clean draw, 0 for one exact denoising draw, None for the most
            probable symbol of each site.
        n_draws: clean draws per candidate.
        chunk: chains that run side by side, None for all (see :func:`in_chunks`).

    Raises:
        UserError: a number below one.
    """

    def __init__(
        self,
        candidates: int,
        n_steps: int,
        x0_steps: int | None,
        n_draws: int,
        chunk: int | None = None,
    ) -> None:
        at_least_one(candidates=candidates, n_steps=n_steps, n_draws=n_draws)
        self.candidates, self.n_steps, self.chunk = candidates, n_steps, chunk
        self.x0_steps, self.n_draws = x0_steps, n_draws

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D)."""
        times = sampling_times(self.n_steps)
        moves = prior.reverse_steps(times)
        denoisers = clean_estimates(prior, times[1:], self.x0_steps)
        values = mean_values(denoisers, likelihood, self.n_draws)
        last = prior.denoisers([CLEAN], 0)[0]

        def run(chains: Tensor) -> Tensor:
            x = prior.noise(len(chains), generator)
            rows = torch.arange(len(x), device=x.device)
            for move, value in reported(zip(moves, values, strict=True), self.n_steps):
                candidates = several(move, x, self.candidates, generator)
                # Candidates are exchangeable: the first of equally good ones is a random one.
                x = candidates[rows, value(candidates, chains, generator).argmax(1)]
            return last(x, generator).long()

        tried = self.candidates * self.n_draws
        samples = in_chunks(run, likelihood, n_chains, self.chunk, generator.device)
        return drawn(samples, *search_cost(denoisers, last, tried))
