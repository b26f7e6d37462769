"""Laws of reverse steps by the names that SymmetricDiffusers' stored arrays use."""

import torch

from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseInsertion,
    InverseRiffle,
    PlackettLuce,
)
from jumpbench.methods.symmetric_diffusers.sampler import inverse_transposition


def pinned(scores):
    """The law of tours: the first object keeps its place."""
    first = torch.arange(scores.shape[-1]) == 0
    return GeneralisedPlackettLuce(scores.masked_fill(first != first[:, None], -torch.inf))


def transposition(scores):
    """The last score is the release's logit of staying, which is minus our tau."""
    return inverse_transposition(torch.cat((scores[..., :-1], -scores[..., -1:]), -1))


FAMILIES = {
    "gpl": GeneralisedPlackettLuce,
    "pl": PlackettLuce,
    "pinned": pinned,
    "insertion": InverseInsertion,
    "riffle": InverseRiffle,
    "transposition": transposition,
}
