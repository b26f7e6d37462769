"""The likelihood half-step of split Gibbs: z ~ exp(log p(y|z) - penalty * d(x, z)), x fixed."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.mcmc.metropolis import SingleSiteMetropolis
from jumpbench.targets.base import Target
from jumpbench.targets.changes import BlockStep, Commit, Delta, at_site, block_of


class StepInfo(NamedTuple):
    """Share of accepted proposals (B,), None if nothing is proposed; what the step took.

    Attributes:
        evaluations: of the likelihood, as :class:`~jumpbench.samplers.cost.Cost` counts energies.
        sequential_steps: draws that must follow one another.
    """

    acceptance: Tensor | None
    evaluations: float
    sequential_steps: int


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


class TiedDelta:
    """``delta`` of log p(y|z) - penalty * d(x, z), from that of log p(y|z)."""

    def __init__(self, delta: Delta, x: Tensor, penalty: float) -> None:
        self.delta, self.x = delta, x
        # A tensor: compiled steps serve every penalty, where a number would be part of their code.
        self.penalty = torch.full((), penalty, device=x.device)

    def __call__(self, z: Tensor, site: Tensor, token: Tensor) -> Tensor:
        anchor = at_site(self.x, site)
        further = (token != anchor).float() - (at_site(z, site) != anchor).float()
        return self.delta(z, site, token) - self.penalty * further

    def block(self, sites: Tensor, tokens: Tensor, indices: Tensor) -> BlockStep:
        likelihood = block_of(self.delta, sites, tokens, indices)
        anchor = self.x.view(-1).index_select(0, indices.view(-1)).view(indices.shape)
        # What the tie adds when the old symbol was that of x, and when it was another.
        left = (anchor != tokens).float() * -self.penalty
        away, between = left.unbind(0), (left + self.penalty).unbind(0)
        anchors = anchor.unbind(0)

        def step(k: int, z: Tensor, old: Tensor) -> Tensor:
            tie = torch.where(old == anchors[k], away[k], between[k])
            return likelihood(k, z, old) + tie

        return step


class Tied(Target):
    """log p(y|z) - penalty * d(x, z) as a target of Markov kernels, chain b tied to x[b]."""

    def __init__(self, likelihood: Likelihood, x: Tensor, penalty: float, n_states: int) -> None:
        super().__init__(x.shape[1], n_states)
        self.likelihood, self.x, self.penalty = likelihood, x, penalty

    def log_prob(self, z: Tensor) -> Tensor:
        return self.likelihood.log_likelihood(z) - self.penalty * (z != self.x).sum(-1)

    def changes(self, z: Tensor) -> tuple[Delta, Commit | None]:
        delta, commit = self.likelihood.changes(z)
        return TiedDelta(delta, self.x, self.penalty), commit


class MetropolisStep:
    """T Metropolis-Hastings proposals; distances are to x, not to the current z.

    Args:
        n_proposals: T.
        from_previous: start at the previous z (Metropolis within Gibbs) and not at x, as the
            paper's code does. A start at x is right only once the chain has forgotten it.
        kernel: T of whose steps are made; by default proposals at single sites.

    Raises:
        UserError: T below one.
    """

    def __init__(
        self, n_proposals: int, from_previous: bool = False, kernel: Kernel | None = None
    ) -> None:
        if n_proposals < 1:
            raise UserError(f"n_proposals must be at least 1, not {n_proposals}")
        self.n_proposals, self.from_previous = n_proposals, from_previous
        self.kernel = kernel or SingleSiteMetropolis()

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
        target = Tied(likelihood, anchor, penalty, n_states)
        z, info = self.kernel(target, start, self.n_proposals, generator)
        acceptance = info.acceptance.double()
        return z.to(x.dtype), StepInfo(acceptance, info.energy_evaluations, info.sequential_steps)


class ExactStep:
    """One categorical draw per site, for likelihoods that factor over sites.

    It asks for the likelihood of a state and of all its neighbours, 1 + D (N - 1) evaluations.

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
        return z.to(x.dtype), StepInfo(None, 1 + x.shape[1] * (n_states - 1), 1)
