"""The likelihood half-step of split Gibbs: z ~ exp(log p(y|z) - penalty * d(x, z)), x fixed."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jumpbench.kernels.categorical import sample_categorical
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.samplers.mcmc.metropolis import single_site_metropolis
from jumpbench.targets.changes import Delta, at_site


class StepInfo(NamedTuple):
    """Share of accepted proposals (B,), None if nothing is proposed; likelihood evaluations."""

    acceptance: Tensor | None
    evaluations: int


class LikelihoodStep(Protocol):
    """Draws z (B, D) given x (B, D), the previous z, and the penalty per mismatch in nats."""

    def __call__(
        self,
        x: Tensor,
        previous: Tensor,
        penalty: float,
        likelihood: Likelihood,
        n_states: int,
        generator: torch.Generator,
    ) -> tuple[Tensor, StepInfo]: ...


def tied(delta: Delta, x: Tensor, penalty: float) -> Delta:
    """``delta`` of log p(y|z) - penalty * d(x, z), from that of log p(y|z)."""

    def tied_delta(z: Tensor, site: Tensor, token: Tensor) -> Tensor:
        anchor = at_site(x, site)
        further = (token != anchor).float() - (at_site(z, site) != anchor).float()
        return delta(z, site, token) - penalty * further

    return tied_delta


class MetropolisStep:
    """T single-site Metropolis-Hastings proposals; distances are to x, not to the current z.

    Args:
        n_proposals: T.
        from_previous: start at the previous z (Metropolis within Gibbs) and not at x, as the
            paper's code does. A start at x is right only once the chain has forgotten it.
    """

    def __init__(self, n_proposals: int, from_previous: bool = False) -> None:
        self.n_proposals, self.from_previous = n_proposals, from_previous

    def __call__(
        self,
        x: Tensor,
        previous: Tensor,
        penalty: float,
        likelihood: Likelihood,
        n_states: int,
        generator: torch.Generator,
    ) -> tuple[Tensor, StepInfo]:
        # Small integers: a step is spent on moving states about.
        dtype = torch.uint8 if n_states <= 256 else x.dtype
        anchor, start = x.to(dtype), (previous if self.from_previous else x).to(dtype)
        delta, commit = likelihood.changes(start)
        z, info = single_site_metropolis(
            tied(delta, anchor, penalty), start, self.n_proposals, n_states, generator, commit
        )
        return z.to(x.dtype), StepInfo(info.acceptance.double(), self.n_proposals + 1)


class ExactStep:
    """One categorical draw per site, for likelihoods that factor over sites.

    Raises:
        ValueError: the likelihood has no table per site.
    """

    def __call__(
        self,
        x: Tensor,
        previous: Tensor,
        penalty: float,
        likelihood: Likelihood,
        n_states: int,
        generator: torch.Generator,
    ) -> tuple[Tensor, StepInfo]:
        table = likelihood.site_log_likelihood()
        if table is None:
            raise ValueError("the exact step needs a likelihood that factors over sites")
        likelihood.check_chains(len(x))
        log_weights = table.to(x.device).expand(len(x), -1, -1) - penalty
        here = x.long()[..., None]
        log_weights = log_weights.scatter_add(
            2, here, torch.full_like(here, penalty, dtype=log_weights.dtype)
        )
        z = sample_categorical(log_weights.softmax(-1), generator)
        return z.to(x.dtype), StepInfo(None, 1)
