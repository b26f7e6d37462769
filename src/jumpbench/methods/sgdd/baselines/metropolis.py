"""Metropolis-Hastings on the likelihood alone: what the measurement says without a prior."""

import torch

from jumpbench.methods.sgdd.interface import drawn
from jumpbench.methods.sgdd.likelihood_step import MetropolisStep
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import Prior
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws


class NoPrior:
    """Single-site proposals against p(y|x) from uniform states (SGDD, figure 6).

    Of the prior only the length and the alphabet are used. The paper does not say how many
    proposals it makes; K T of SGDD compares like with like.
    """

    def __init__(self, n_proposals: int) -> None:
        self.step = MetropolisStep(n_proposals)

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws:
        """Samples (n_chains, D)."""
        likelihood.check_chains(n_chains)
        x = torch.randint(
            prior.n_states, (n_chains, prior.length), generator=generator, device=generator.device
        )
        z, info = self.step(x, x, 0.0, likelihood, prior.n_states, generator)
        assert info.acceptance is not None
        cost = Cost(0, info.evaluations, self.step.n_proposals)
        return drawn(z, cost, 0, acceptance=info.acceptance)
