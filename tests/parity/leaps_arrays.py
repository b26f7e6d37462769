"""What the comparisons with LEAPS share: its 5 x 5 targets, and its layouts as ours."""

import torch

from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts
from parity.arrays import arrays

SIZE = 5
TARGETS = {
    "ising": Ising(SIZE, 0.4407, field=0.3, dtype=torch.float64),
    "potts": Potts(SIZE, 3, 1.001, dtype=torch.float64),
}


def stored(name):
    """Arrays of one model, its states as (B, D)."""
    return arrays("leaps", f"{name}.")


def sites(lattice):
    """(..., L, L) to (..., D)."""
    return lattice.flatten(-2)


def table(name, values, x):
    """Values of the changes of x (B, D), 0 at the current symbols, (B, D, N).

    Stored are (B, L, L) for the flips of spins, (B, N, L, L) for symbols.
    """
    if name == "ising":
        flips = sites(values).unsqueeze(-1)
        return torch.zeros(*x.shape, 2, dtype=values.dtype).scatter(-1, 1 - x[..., None], flips)
    return sites(values).mT.scatter(-1, x[..., None], 0.0)
