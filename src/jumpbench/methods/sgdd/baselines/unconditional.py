"""The prior's own samples: what every guided sampler starts from."""

import torch

from jumpbench.methods.sgdd.baselines.common import at_least_one, sampling_times
from jumpbench.methods.sgdd.interface import drawn
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import CLEAN, Prior
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class Unconditional:
    """``n_steps`` reverse steps from noise and a denoising draw; the likelihood has no say.

    Raises:
        UserError: no step.
    """

    def __init__(self, n_steps: int) -> None:
        at_least_one(n_steps=n_steps)
        self.n_steps = n_steps

    def __call__(
        self, prior: Prior, likelihood: Likelihood | None, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D)."""
        x = prior.noise(n_chains, generator)
        for move in prior.reverse_steps(sampling_times(self.n_steps)):
            x = move(x, generator)
        x = prior.denoisers([CLEAN], 0)[0](x, generator)
        return drawn(x, Cost(self.n_steps + 1, 0, self.n_steps + 1), self.n_steps)
