"""Exact laws of small targets, by enumeration of all states."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.base import DiscreteTarget

LARGEST_BITS = 20
"""log2 of the largest number of states that is enumerated."""


def all_states(length: int, n_states: int) -> Tensor:
    """Every state, ``(N^D, D)`` uint8, the last site varying fastest.

    Raises:
        UserError: more than 2^20 states, or more than 256 symbols.
    """
    if length * math.log2(n_states) > LARGEST_BITS + 1e-9 or n_states > 256:
        raise UserError(
            f"{n_states}^{length} states are too many to enumerate (at most {2**LARGEST_BITS})"
        )
    index = torch.arange(n_states**length)
    digits = [
        (index // n_states**power % n_states).to(torch.uint8) for power in reversed(range(length))
    ]
    return torch.stack(digits, -1)


@dataclass(frozen=True)
class EnumeratedLaw:
    """A normalised law on all states: ``states`` (S, D), ``probs`` (S,) float64, ``log_z``."""

    states: Tensor
    probs: Tensor
    log_z: float

    def mean(self, values: Tensor) -> float:
        """Expectation of one value per state, (S,)."""
        return float(self.probs @ values.double())

    def std(self, values: Tensor) -> float:
        """Standard deviation of one value per state, (S,)."""
        return math.sqrt(self.mean((values.double() - self.mean(values)) ** 2))

    def histogram(self, samples: Tensor, n_states: int) -> Tensor:
        """Empirical law of ``samples`` (B, D) on the same states, (S,) float64."""
        powers = n_states ** torch.arange(samples.shape[-1] - 1, -1, -1)
        index = (samples.long().cpu() * powers).sum(-1)
        return torch.bincount(index, minlength=len(self.probs)).double() / len(index)


@torch.no_grad()
def enumerate_law(
    target: DiscreteTarget, device: torch.device | str | None = None
) -> EnumeratedLaw:
    """The exact law of a small target, to the precision of its own ``log_prob``, on the CPU.

    ``device`` is where the target computes, if its tensors are elsewhere.

    Raises:
        UserError: more than 2^20 states, or a log-probability of another shape than (B,), NaN or
            +inf, or -inf everywhere; or a power for each group of a batch, which is several laws.
    """
    if getattr(target, "is_by_group", False):
        raise UserError("a target with a power for each group of states is no single law")
    states = all_states(target.length, target.n_states)
    parts = (part.long().to(device) for part in states.split(2**16))
    log_prob = torch.cat([target.log_prob(part).double().cpu() for part in parts])
    if log_prob.shape != (len(states),):
        raise UserError(
            f"log_prob of {type(target).__name__} must map (B, {target.length}) to (B,), not to "
            f"(B{''.join(f', {n}' for n in log_prob.shape[1:])})"
        )
    if wrong := int((log_prob.isnan() | (log_prob == math.inf)).sum()):
        raise UserError(
            f"log_prob of {type(target).__name__} is NaN or +inf at {wrong} of {len(states)} states"
        )
    log_z = log_prob.logsumexp(0)
    if log_z == -math.inf:
        raise UserError(f"{type(target).__name__} gives every state probability 0")
    return EnumeratedLaw(states, (log_prob - log_z).exp(), float(log_z))
