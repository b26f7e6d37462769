"""Pair interactions on the periodic square lattice: what the Ising and the Potts model share."""

from itertools import combinations_with_replacement

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.base import Target

# Above this many rows a table of local configurations leaves the first-level cache and loses.
_LARGEST_TABLE = 4096


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
        self._tables: dict[torch.device, tuple[Tensor, Tensor]] = {}

    def grid(self, x: Tensor) -> Tensor:
        """``(..., D) -> (..., L, L)``, rows first."""
        return x.reshape(*x.shape[:-1], self.size, self.size)

    def log_prob(self, x: Tensor) -> Tensor:
        return self.energy(x).mul_(-self.beta)

    def neighbor_log_ratios(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """All one-site log-ratios in one pass; ``(..., D) -> (..., D, N)``.

        The ratios at a site depend on its symbol and on how often each symbol occurs among its
        four neighbours. For few symbols that pair is encoded as one small integer per site (sums of
        8- or 16-bit shifts), which looks up a row of N ratios: the only pass over memory of the
        size of the result is the writing of it. For many symbols the four shifts are taken of
        rows of A.

        Args:
            out: contiguous tensor of the result's shape and dtype to write to.
        """
        shape = (*x.shape, self.n_states)
        if out is not None and (
            out.shape != shape or out.dtype != self.dtype or not out.is_contiguous()
        ):
            raise UserError(f"out must be contiguous, {self.dtype}, of shape {shape}")
        weights = _count_weights(self.n_states)
        stride = 4 * weights[-1] + 1
        if self.n_states * stride > _LARGEST_TABLE:
            ratios = self._ratios_by_rows(x)
            return ratios if out is None else out.copy_(ratios)
        table, weight = self._local_table(x.device)
        states = self.grid(x.reshape(-1, self.length))
        # For two symbols the weights are the symbols themselves.
        values = states.to(weight.dtype) if self.n_states == 2 else _take(weight, states)
        code = _neighbor_sum(values).int().add_(states.int(), alpha=stride)
        if out is None:
            out = torch.empty(shape, dtype=self.dtype, device=x.device)
        wide = _wide_type(self.dtype, self.n_states)
        if wide is None:
            torch.index_select(table, 0, code.view(-1), out=out.view(-1, self.n_states))
        else:  # a row of ratios moves as one 8- or 16-byte number
            torch.index_select(
                table.view(wide).view(-1), 0, code.view(-1), out=out.view(wide).view(-1)
            )
        return out

    def _ratios_by_rows(self, x: Tensor) -> Tensor:
        rows = self.grid(self.pair.to(x.device, self.dtype)[x.long()].movedim(-1, -2))
        field = rows.roll(1, -1) + rows.roll(-1, -1) + rows.roll(1, -2) + rows.roll(-1, -2)
        field = field.flatten(-2).movedim(-2, -1) + self.field.to(x.device, self.dtype)
        return (field - field.gather(-1, x.long().unsqueeze(-1))).contiguous()

    def _local_table(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Ratios by local configuration, ``(rows, N)``, and the weight of each symbol's code."""
        if device not in self._tables:
            weights = _count_weights(self.n_states)
            stride = 4 * weights[-1] + 1
            table = torch.zeros(self.n_states, stride, self.n_states, dtype=torch.float64)
            for neighbors in combinations_with_replacement(range(self.n_states), 4):
                field = self.pair[list(neighbors)].sum(0) + self.field
                table[:, sum(weights[k] for k in neighbors)] = field - field[:, None]
            small = torch.uint8 if 4 * weights[-1] < 256 else torch.int16
            self._tables[device] = (
                table.view(-1, self.n_states).to(device, self.dtype),
                torch.tensor(weights, dtype=small, device=device),
            )
        return self._tables[device]

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_tables": {}}


def _count_weights(n_states: int) -> list[int]:
    """Weights whose sums over four neighbours tell how often each symbol occurs: 0, 1, 5, 25 ..."""
    return [0] + [5**k for k in range(n_states - 1)]


def _take(table: Tensor, index: Tensor) -> Tensor:
    index = index if index.dtype in (torch.int32, torch.int64) else index.int()
    return table.index_select(0, index.reshape(-1)).view(index.shape)


def _neighbor_sum(values: Tensor) -> Tensor:
    """Sum over the four neighbours on the torus, ``(B, L, L) -> (B, L, L)`` (a strided view).

    On the padded lattice, flattened with row length W = L + 2, the stencil factorises:
    z^-W + z^-1 + z + z^W = z^-W (1 + z^(W-1)) (1 + z^(W+1)), two contiguous additions.
    """
    batch, size, _ = values.shape
    width = size + 2
    padded = torch.cat((values[:, :, -1:], values, values[:, :, :1]), 2)
    padded = torch.cat((padded[:, -1:], padded, padded[:, :1]), 1).view(-1)
    total = padded[: 1 - width] + padded[width - 1 :]
    total = total[: -1 - width] + total[width + 1 :]
    return total.as_strided((batch, size, size), (width * width, width, 1), 1)


def _wide_type(dtype: torch.dtype, n_states: int) -> torch.dtype | None:
    """A type as long as a row of ``n_states`` numbers, if there is one."""
    return {8: torch.int64, 16: torch.complex128}.get(n_states * dtype.itemsize)
