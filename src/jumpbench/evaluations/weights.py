"""What importance weights say, of particles that share an estimate of log Z, too."""

import math
from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from jumpbench.samplers.draws import Draws
from jumpbench.samplers.weights import effective_sample_size, log_mean_exp, log_normaliser

SYSTEM = "system"
"""Extra of resampled particles: the number of the system that made it, in its batch."""


def joined(batches: Iterable[Draws]) -> Draws:
    """Batches as one; the systems of a batch are numbered on from those before it."""
    batches = list(batches)
    draws = Draws.joined(batches)
    if SYSTEM not in draws.extras:
        return draws
    system = numbered_on(batch.extras[SYSTEM] for batch in batches)
    return replace(draws, extras={**draws.extras, SYSTEM: system})


def numbered_on(systems: Iterable[Tensor]) -> Tensor:
    """Systems of several batches, each numbered from 0, as one."""
    parts: list[Tensor] = []
    first = 0
    for system in systems:
        parts.append(system + first)
        first += int(system.max()) + 1
    return torch.cat(parts)


def of_weights(log_weights: Tensor, system: Tensor | None = None) -> dict[str, float]:
    """``ess``, ``log_z`` and ``log_z_error`` of weights (B,) with E[w] = Z.

    Weights of one ``system`` (B,) were resampled together and are nearly equal, so that the error
    is that over the systems' estimates; NaN where there is one alone.
    """
    weights = estimates = log_weights.double()
    if system is not None:
        estimates = torch.stack([log_mean_exp(weights[system == s]) for s in system.unique()])
    log_z, error = (float(value) for value in log_normaliser(estimates))
    ess = float(effective_sample_size(weights))
    return {"ess": ess, "log_z": log_z, "log_z_error": error if len(estimates) > 1 else math.nan}
