"""Distributions over the permutation that undoes one (merged) shuffling step."""

from jumpbench.methods.symmetric_diffusers.distributions.base import (
    Hypotheses,
    PermutationDistribution,
)
from jumpbench.methods.symmetric_diffusers.distributions.generalised import GeneralisedPlackettLuce
from jumpbench.methods.symmetric_diffusers.distributions.inverse_insertion import InverseInsertion
from jumpbench.methods.symmetric_diffusers.distributions.inverse_riffle import InverseRiffle
from jumpbench.methods.symmetric_diffusers.distributions.inverse_transposition import (
    InverseTransposition,
)
from jumpbench.methods.symmetric_diffusers.distributions.plackett_luce import PlackettLuce

__all__ = [
    "GeneralisedPlackettLuce",
    "Hypotheses",
    "InverseInsertion",
    "InverseRiffle",
    "InverseTransposition",
    "PermutationDistribution",
    "PlackettLuce",
]
