"""The bonds of the random-cluster representation, common to all cluster moves."""

import math

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts


def bond_probability(target: Ising | Potts) -> float:
    """1 - exp(-K) with K = beta J for Potts and 2 beta J for Ising, its two-symbol case.

    Raises:
        UserError: another target, an external field, or a negative coupling.
    """
    if not isinstance(target, Ising | Potts):
        raise UserError(
            f"cluster moves are for Ising and Potts targets, not {type(target).__name__}: "
            "use a single-site sampler"
        )
    if isinstance(target, Ising) and target.external_field != 0:
        raise UserError("cluster moves need field = 0: use a single-site sampler with a field")
    if target.coupling < 0:
        raise UserError("cluster moves need coupling >= 0: use a single-site sampler")
    strength = target.beta * target.coupling
    return -math.expm1(-2 * strength if isinstance(target, Ising) else -strength)


def open_bonds(
    grid: Tensor, probability: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Opens each bond between equal neighbours with ``probability``.

    ``grid (B, L, L)``; returns the bonds to the right and to the lower neighbour, both bool.
    """
    u = torch.rand((2, *grid.shape), generator=generator, device=grid.device)
    right = (grid == grid.roll(-1, 2)).logical_and_(u[0] < probability)
    down = (grid == grid.roll(-1, 1)).logical_and_(u[1] < probability)
    return right, down
