"""The interfaces of posterior samplers (SGDD and baselines) and of the problems they solve."""

from typing import Any, Protocol

import torch

from jumpbench.methods.sgdd.likelihoods import Likelihood
from jumpbench.methods.sgdd.prior import Prior
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws

COUNTED = "counted_evaluations"
"""Extra of all draws: score evaluations per sample as our tables count them (``counted_calls``)."""

SEQUENTIAL = "counted_sequential"
"""Extra of all draws: those of them that must follow one another (the paper's Table 6)."""


class PosteriorSampler(Protocol):
    """Draws from p(x) p(y|x): independent chains, one sample (D,) each, integers ``long``.

    The cost is that of one sample as an algorithm on a network prior would pay it, whatever closed
    forms were used: score evaluations, evaluations of log p(y|x), and as sequential steps the
    score evaluations and proposals that must follow one another. Extras: :data:`COUNTED` and,
    where proposals are accepted, their share ``acceptance``.
    """

    def __call__(
        self, prior: Prior, likelihood: Likelihood, generator: torch.Generator, n_chains: int
    ) -> Draws: ...


class Problem(Protocol):
    """What is asked of a batch of the data: one chain per row of it."""

    length: int
    n_states: int

    def likelihood(self, batch: Any) -> Likelihood:
        """log p(y|x), with one measurement for all chains of the batch or one for each."""
        ...

    def n_chains(self, batch: Any) -> int:
        """How many samples the batch asks for."""
        ...


def drawn(
    samples: torch.Tensor,
    cost: Cost,
    counted: float,
    sequential: float | None = None,
    **extras: torch.Tensor,
) -> Draws:
    """Draws with their counts (:data:`COUNTED`); ``sequential`` None: one after the other."""
    counts = {COUNTED: counted, SEQUENTIAL: counted if sequential is None else sequential}
    shape = (len(samples),)
    columns = {k: torch.full(shape, float(v), dtype=torch.float64) for k, v in counts.items()}
    return Draws(samples.long(), cost=cost, extras={**columns, **extras})
