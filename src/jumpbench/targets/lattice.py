"""Pair interactions on the periodic square lattice: what the Ising and the Potts model share."""

from itertools import combinations_with_replacement
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.base import DiscreteTarget, Target

# With six symbols the table of local configurations would leave the processor's cache.
_MOST_SYMBOLS_IN_A_TABLE = 5


class LatticeTarget(DiscreteTarget, Protocol):
    """What samplers and metrics of the square lattice rely on; wrappers of a lattice have it too.

    log nu(x) = sum over edges pair[x_i, x_j] + sum over sites field[x_i], on the L x L torus.
    """

    size: int
    """L; D = L^2, site d = row * L + column."""
    pair: Tensor
    """(N, N), float64 on the CPU, symmetric, times the inverse temperature."""
    field: Tensor
    """(N,), likewise."""

    def grid(self, x: Tensor) -> Tensor:
        """``(..., D) -> (..., L, L)``, rows first."""
        ...

    def energy(self, x: Tensor) -> Tensor:
        """The energy in the model's own units, ``(..., D) -> (...)``."""
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
        pair: A, ``(N, N)``.
        field: b, ``(N,)``.
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
        self._tables: dict[torch.device, _LocalTable] = {}

    def grid(self, x: Tensor) -> Tensor:
        """``(..., D) -> (..., L, L)``, rows first."""
        return x.reshape(*x.shape[:-1], self.size, self.size)

    def log_prob(self, x: Tensor) -> Tensor:
        return self.energy(x).mul_(-self.beta)

    def neighbor_log_ratios(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """All one-site log-ratios in one pass; ``(..., D) -> (..., D, N)``.

        The ratios at a site depend on its symbol and on how often each symbol occurs among its
        four neighbours. For few symbols that pair is encoded as one small integer per site (sums of
        8- or 16-bit shifts of powers), which looks up a row of N ratios: the only pass over memory
        of the size of the result is the writing of it. For many symbols the four shifts are taken
        of rows of A.

        Args:
            out: contiguous tensor of the result's shape and dtype to write to.
        """
        shape = (*x.shape, self.n_states)
        if out is not None and (
            out.shape != shape or out.dtype != self.dtype or not out.is_contiguous()
        ):
            raise UserError(f"out must be contiguous, {self.dtype}, of shape {shape}")
        if self.n_states > _MOST_SYMBOLS_IN_A_TABLE:
            ratios = self._ratios_by_rows(x)
            return ratios if out is None else out.copy_(ratios)
        local = self._tables.get(x.device) or self._local_table(x.device)
        symbols = _wrapped(x.reshape(-1, self.size, self.size), local.code_dtype)
        powers = symbols if local.exponent == 1 else symbols * symbols
        for _ in range(2, local.exponent):
            powers *= symbols
        code = _neighbor_sum(powers)
        code.add_(symbols.view(-1)[self.size + 2 : -self.size - 2], alpha=local.stride)
        code = _unwrapped(code, len(symbols), self.size).int().view(-1)
        if out is None:
            out = torch.empty(shape, dtype=self.dtype, device=x.device)
        torch.index_select(local.rows, 0, code, out=local.as_rows(out))
        return out

    def _ratios_by_rows(self, x: Tensor) -> Tensor:
        rows = self.grid(self.pair.to(x.device, self.dtype)[x.long()].movedim(-1, -2))
        field = rows.roll(1, -1) + rows.roll(-1, -1) + rows.roll(1, -2) + rows.roll(-1, -2)
        field = field.flatten(-2).movedim(-2, -1) + self.field.to(x.device, self.dtype)
        return (field - field.gather(-1, x.long().unsqueeze(-1))).contiguous()

    def _local_table(self, device: torch.device) -> "_LocalTable":
        exponent = {2: 1, 5: 5}.get(self.n_states, 3)
        stride = 4 * (self.n_states - 1) ** exponent + 1
        table = torch.zeros(self.n_states, stride, self.n_states, dtype=torch.float64)
        for neighbors in combinations_with_replacement(range(self.n_states), 4):
            field = self.pair[list(neighbors)].sum(0) + self.field
            table[:, sum(k**exponent for k in neighbors)] = field - field[:, None]
        rows = table.view(-1, self.n_states).to(device, self.dtype)
        small = torch.uint8 if len(rows) <= 256 else torch.int16
        wide = {8: torch.int64, 16: torch.complex128}.get(self.n_states * self.dtype.itemsize)
        self._tables[device] = _LocalTable(
            rows if wide is None else rows.view(wide).view(-1),
            exponent,
            stride,
            small,
        )
        return self._tables[device]

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_tables": {}}


class _LocalTable(NamedTuple):
    """The ratios at a site by its symbol x and its neighbours' symbols.

    ``rows``: ``(R, N)``, or ``(R,)`` numbers of 8 or 16 bytes that hold N ratios each, so that a
    lookup moves them as one. The row is x ``stride`` + the sum of the neighbours' symbols to the
    power ``exponent``, chosen so that the sum tells how often each symbol occurs: 0, 1, 8, 27 do,
    with a fifth symbol only the fifth powers. ``code_dtype`` holds the number of any row.
    """

    rows: Tensor
    exponent: int
    stride: int
    code_dtype: torch.dtype

    def as_rows(self, out: Tensor) -> Tensor:
        if self.rows.ndim == 2:
            return out.view(-1, out.shape[-1])
        return out.view(self.rows.dtype).view(-1)


def _wrapped(states: Tensor, dtype: torch.dtype) -> Tensor:
    """``(B, L, L) -> (B, L + 2, L + 2)`` with the torus's opposite edge around each state."""
    size = states.shape[-1]
    wrapped = torch.empty(len(states), size + 2, size + 2, dtype=dtype, device=states.device)
    # narrow and select: small lattices would feel the cost of indexing.
    inner = wrapped.narrow(1, 1, size)
    inner.narrow(2, 1, size).copy_(states)
    for part, axis in ((inner, 2), (wrapped, 1)):
        for edge, opposite in ((0, size), (size + 1, 1)):
            part.select(axis, edge).copy_(part.select(axis, opposite))
    return wrapped


def _neighbor_sum(wrapped: Tensor) -> Tensor:
    """Sums over four neighbours, flat, from the second row of the first state to the last but one.

    With row length W = L + 2 the stencil on the flattened states factorises:
    z^-W + z^-1 + z + z^W = z^-W (1 + z^(W-1)) (1 + z^(W+1)), two contiguous additions.
    """
    width = wrapped.shape[-1]
    flat = wrapped.view(-1)
    total = flat[: 1 - width] + flat[width - 1 :]
    return total[: -1 - width] + total[width + 1 :]


def _unwrapped(flat: Tensor, batch: int, size: int) -> Tensor:
    """``(B, L, L)``, a strided view of what :func:`_neighbor_sum` returns."""
    width = size + 2
    return flat.as_strided((batch, size, size), (width * width, width, 1), 1)
