"""Distributions over the permutation that undoes one (merged) shuffling step."""

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
)
from jumpbench.methods.symmetric_diffusers.distributions.generalised import (
    GeneralisedPlackettLuce,
)
from jumpbench.methods.symmetric_diffusers.distributions.plackett_luce import PlackettLuce

__all__ = [
    "GeneralisedPlackettLuce",
    "Hypotheses",
    "PermutationDistribution",
    "PlackettLuce",
]
