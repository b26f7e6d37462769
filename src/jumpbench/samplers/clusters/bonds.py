"""The bonds of the random-cluster representation, common to all cluster moves."""

import math

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.lattice import LatticeTarget, is_lattice


def bond_probability(target: LatticeTarget) -> float:
    """1 - exp(-K), K the gain in log nu of a pair of equal symbols over one of different ones.

    K = beta J for Potts and 2 beta J for Ising, its two-symbol case.

    Raises:
        UserError: not a lattice target; its pair term tells more than equal and different apart;
            or a negative coupling.
    """
    name = type(target).__name__
    if not is_lattice(target):
        raise UserError(
            "cluster moves need a lattice target (size, pair, field, grid, energy), such as Ising "
            f"and Potts, not {name}: use a single-site sampler"
        )
    pair, same = target.pair, torch.eye(target.n_states, dtype=torch.bool)
    equal, different = pair[same], pair[~same]
    if bool((equal != equal[0]).any() | (different != different[0]).any()):
        raise UserError(
            f"cluster moves need pairs that are equal or different and no more, which {name} does "
            "not have: use a single-site sampler"
        )
    strength = float(equal[0] - different[0])
    if strength < 0:
        raise UserError("cluster moves need coupling >= 0: use a single-site sampler")
    return -math.expm1(-strength)


def cluster_field(target: LatticeTarget, device: torch.device) -> Tensor | None:
    """The field b (N,) in float32, None where it prefers no symbol.

    Given the bonds, log nu leaves a cluster C of equal symbols the weight exp(|C| b[n]) for symbol
    n. This is the representation with a ghost spin (Fortuin and Kasteleyn, 1972), the bonds to the
    ghost summed over.
    """
    if bool((target.field == target.field[0]).all()):
        return None
    return target.field.to(device, torch.float32)


def open_bonds(
    grid: Tensor, probability: float, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Opens each bond between equal neighbours with ``probability``.

    ``grid`` (B, L, L); returns the bonds to the right and to the lower neighbour, both bool.
    """
    u = torch.rand((2, *grid.shape), generator=generator, device=grid.device)
    right = (grid == grid.roll(-1, 2)).logical_and_(u[0] < probability)
    down = (grid == grid.roll(-1, 1)).logical_and_(u[1] < probability)
    return right, down
