"""Pair interactions on the periodic square lattice: what the Ising and the Potts model share."""

from typing import Protocol

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.ops.lattice_ratios import MOST_SYMBOLS, LocalRatios, plain_ratios
from jumpbench.targets.base import DiscreteTarget, Target


class LatticeTarget(DiscreteTarget, Protocol):
    """What samplers and metrics of the square lattice rely on; wrappers of a lattice have it too.

    log nu(x) = sum over edges pair[x_i, x_j] + sum over sites field[x_i], on the L x L torus.
    """

    size: int
    """L; D = L^2, site d = row * L + column."""
    pair: Tensor
    """(N, N), float64 on the CPU (or where a wrapper's power is), symmetric, times beta."""
    field: Tensor
    """(N,), likewise."""

    def grid(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., L, L), rows first."""
        ...

    def energy(self, x: Tensor) -> Tensor:
        """The energy in the model's own units, (..., D) -> (...)."""
        ...


def is_lattice(target: DiscreteTarget) -> bool:
    """Whether a target has what :class:`LatticeTarget` names; asked of wrappers too."""
    return all(hasattr(target, name) for name in ("size", "pair", "field", "grid", "energy"))


class PairLattice(Target):
    """log nu(x) = sum over edges A[x_i, x_j] + sum over sites b[x_i] on an L x L torus.

    Site ``d = row * L + column``; every undirected edge counts once, ``2 L^2`` in all. Subclasses
    give A (symmetric) and b, already multiplied by the inverse temperature, and their own
    ``energy``, with log nu = -beta E.

    Args:
        size: L, at least 3 (at L = 2 the left and the right neighbour are the same site).
        pair: A, (N, N).
        field: b, (N,).
        beta: inverse temperature.
        dtype: of everything computed; float64 for oracles.

    Raises:
        UserError: ``size < 3``, negative or non-finite ``beta``, A or b not finite or A not
            symmetric.
    """

    def __init__(
        self,
        size: int,
        pair: Tensor,
        field: Tensor,
        beta: float,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if size < 3:
            raise UserError(
                f"a periodic lattice needs size >= 3, not {size}: below that the neighbours of a "
                "site coincide"
            )
        if not 0 <= beta < float("inf"):
            raise UserError(f"beta must be finite and not negative, not {beta}")
        if not (pair.isfinite().all() and field.isfinite().all() and torch.equal(pair, pair.T)):
            raise UserError("lattice couplings and fields must be finite, and couplings symmetric")
        super().__init__(size * size, len(field))
        self.size = int(size)
        self.beta = float(beta)
        self.dtype = dtype
        self.pair = pair.double()
        self.field = field.double()
        self._tables: dict[torch.device, LocalRatios] = {}

    def grid(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., L, L), rows first."""
        return x.reshape(*x.shape[:-1], self.size, self.size)

    def log_prob(self, x: Tensor) -> Tensor:
        return self.energy(x).mul_(-self.beta)

    def neighbor_log_ratios(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """All one-site log-ratios in one pass; (..., D) -> (..., D, N).

        Few symbols: by :class:`~jumpbench.ops.lattice_ratios.LocalRatios`.

        Args:
            out: contiguous tensor of the result's shape and dtype to write to.
        """
        shape = (*x.shape, self.n_states)
        if out is not None and (
            out.shape != shape or out.dtype != self.dtype or not out.is_contiguous()
        ):
            raise UserError(f"out must be contiguous, {self.dtype}, of shape {shape}")
        grid = x.reshape(-1, self.size, self.size)
        if self.n_states > MOST_SYMBOLS:
            pair, field = (a.to(x.device, self.dtype) for a in (self.pair, self.field))
            ratios = plain_ratios(grid, pair, field).view(shape)
            return ratios if out is None else out.copy_(ratios)
        if x.device not in self._tables:
            self._tables[x.device] = LocalRatios(self.pair, self.field, x.device, self.dtype)
        if out is None:
            out = torch.empty(shape, dtype=self.dtype, device=x.device)
        return self._tables[x.device](grid, out)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_tables": {}}
