"""A posterior sampler as a method of the suite."""

from dataclasses import replace
from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.base import Method
from jumpbench.methods.sgdd.interface import PosteriorSampler, Problem
from jumpbench.methods.sgdd.prior import Prior
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.returned import check_form, check_symbols, name_of

SETTINGS = {"n_iterations": "iterations", "n_steps": "iterations", "prior_steps": "prior_steps"}
"""Settings of samplers that Table 6 prints, and what it calls them."""


class PosteriorSampling(Method):
    """Runs one sampler on one problem: a chain for every row of a test batch.

    Extra of all draws: ``misfit``, -log p(y|x) of the sample that is returned, in nats (how well it
    obeys its measurement). Results: ``iterations`` and ``prior_steps`` where the sampler has them.
    Artifacts: the mask ``observed`` of a problem that has one.

    Args:
        problem: makes the likelihood of a batch.
        prior: the diffusion prior; never trained here.
        sampler: SGDD or a baseline.

    Raises:
        UserError: prior and problem differ in length or alphabet.
    """

    def __init__(
        self,
        problem: Problem,
        prior: Prior,
        sampler: PosteriorSampler,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed, evaluation)
        if (prior.length, prior.n_symbols) != (problem.length, problem.n_states):
            raise UserError(
                f"the prior has {prior.length} sites of {prior.n_symbols} states, the problem "
                f"{problem.length} of {problem.n_states}; give both the same"
            )
        self.problem, self.sampler = problem, sampler
        self.prior = prior.requires_grad_(False)

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        likelihood = self.problem.likelihood(batch)
        n = self.problem.n_chains(batch)
        draws = self.sampler(self.prior, likelihood, generator, n)
        states = draws.samples if isinstance(draws, Draws) else draws
        check_form(self.sampler, states, (n, self.problem.length), None)
        if not isinstance(draws, Draws):
            raise UserError(f"{name_of(self.sampler)} returned a tensor alone: return Draws of it")
        check_symbols(self.sampler, states, self.problem.n_states)
        misfit = -likelihood.log_likelihood(draws.samples)
        return replace(draws, extras={**draws.extras, "misfit": misfit})

    def further_results(self) -> dict[str, float]:
        return {
            label: getattr(self.sampler, name)
            for name, label in SETTINGS.items()
            if hasattr(self.sampler, name)
        }

    def further_artifacts(self) -> dict[str, Any]:
        mask = getattr(self.problem, "observed", None)
        return {"observed": mask.cpu()} if isinstance(mask, torch.Tensor) else {}
