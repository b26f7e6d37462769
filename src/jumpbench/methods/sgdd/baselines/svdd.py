"""SVDD-PM: at every reverse step, the best of M candidates by the value of their clean draws."""

import torch
from torch import Tensor

from jumpbench.methods.sgdd.baselines.common import clean_log_likelihoods, sampling_times
from jumpbench.methods.sgdd.interface import SamplerInfo
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior


class SVDD:
    """Soft value-based decoding with posterior-mean values, at zero temperature.

    Each chain draws M candidates of the next state from the unconditional reverse step and keeps
    the one with the largest mean log p(y|x_0), x_0 drawn ``n_draws`` times from the denoiser at
    the new time. Chains never interact; one sample per chain.

    Args:
        candidates: M.
        n_steps: reverse steps.
        x0_steps: reverse steps of a clean draw, 0 for one exact denoising draw.
        n_draws: clean draws per candidate.
    """

    def __init__(
        self, candidates: int = 20, n_steps: int = 128, x0_steps: int = 2, n_draws: int = 3
    ) -> None:
        self.candidates, self.n_steps = candidates, n_steps
        self.x0_steps, self.n_draws = x0_steps, n_draws

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> tuple[Tensor, SamplerInfo]:
        """Samples (n_chains, D) and the cost of one of them."""
        times = sampling_times(self.n_steps)
        moves = prior.reverse_steps(times)
        denoisers = prior.denoisers(times[1:], self.x0_steps)
        x = prior.noise(n_chains, generator)
        calls = 0
        for move, denoiser in zip(moves, denoisers, strict=True):
            candidates = move(x[:, None].expand(-1, self.candidates, -1), generator)
            value = clean_log_likelihoods(
                candidates, denoiser, likelihood, self.n_draws, generator
            ).mean(0)
            # Candidates are exchangeable, so the first of equally good ones is a random one.
            best = value.argmax(1)
            x = candidates[torch.arange(n_chains, device=x.device), best]
            calls += 1 + self.candidates * self.n_draws * denoiser.network_calls
        x = prior.denoisers([CLEAN], 0)[0](x, generator)
        values = self.n_steps * self.candidates * self.n_draws
        return x.long(), SamplerInfo(None, calls + 1, values)
