"""The one interface of all posterior samplers, SGDD and baselines."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import Prior


class SamplerInfo(NamedTuple):
    """What a run cost, per returned sample, as an algorithm on a network prior would pay it.

    Attributes:
        acceptance: share of accepted Metropolis-Hastings proposals (0-d), None without any.
        network_evaluations: states put through the score.
        counted_evaluations: the same as the paper counts them, see :class:`Transition`.
        likelihood_evaluations: evaluations of log p(y|x).
        sequential_steps: score evaluations and proposals that have to follow one another.
    """

    acceptance: Tensor | None
    network_evaluations: int
    counted_evaluations: int
    likelihood_evaluations: int
    sequential_steps: int


class PosteriorSampler(Protocol):
    """Draws from p(x) p(y|x): independent chains, one sample (D,) each, integers ``long``."""

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> tuple[Tensor, SamplerInfo]: ...
