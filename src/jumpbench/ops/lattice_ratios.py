"""All one-site log-ratios of a pair lattice: written plainly, and through a table of local states.

On the L x L torus with couplings A (N, N) and fields b (N,) the log-ratio of putting symbol
n at a site with symbol s and neighbours v_1..v_4 is h[n] - h[s], h[n] = sum_j A[v_j, n] + b[n].
"""

from itertools import combinations_with_replacement

import torch
from torch import Tensor

# With six symbols the table of local configurations would leave the processor's cache.
MOST_SYMBOLS = 5


def plain_ratios(x: Tensor, pair: Tensor, field: Tensor) -> Tensor:
    """(..., L, L) -> (..., L, L, N): the four shifts of rows of A, in the dtype of A."""
    rows = pair[x.long()]
    local = rows.roll(1, -2) + rows.roll(-1, -2) + rows.roll(1, -3) + rows.roll(-1, -3) + field
    return local - local.gather(-1, x.long().unsqueeze(-1))


class LocalRatios:
    """The ratios at a site by its symbol and how often each symbol occurs among its neighbours.

    That pair is encoded as one small integer per site (sums of 8- or 16-bit shifts of powers),
    which looks up a row of N ratios: the only pass over memory of the size of the result is the
    writing of it.

    The row is x ``stride`` + the sum of the neighbours' symbols to the power ``exponent``, chosen
    so that the sum tells how often each symbol occurs: 0, 1, 8, 27 do, with a fifth symbol only the
    fifth powers.

    Args:
        pair: A, (N, N), N at most :data:`MOST_SYMBOLS`.
        field: b, (N,).
        device, dtype: of the ratios; they are computed in float64 first.
    """

    def __init__(
        self, pair: Tensor, field: Tensor, device: torch.device, dtype: torch.dtype
    ) -> None:
        n_states = len(field)
        pair, field = pair.double().cpu(), field.double().cpu()
        self.exponent = {2: 1, 5: 5}.get(n_states, 3)
        self.stride = 4 * (n_states - 1) ** self.exponent + 1
        table = torch.zeros(n_states, self.stride, n_states, dtype=torch.float64)
        for neighbors in combinations_with_replacement(range(n_states), 4):
            local = pair[list(neighbors)].sum(0) + field
            table[:, sum(k**self.exponent for k in neighbors)] = local - local[:, None]
        rows = table.view(-1, n_states).to(device, dtype)
        # Numbers of 8 or 16 bytes that hold N ratios each: a lookup moves them as one.
        wide = {8: torch.int64, 16: torch.complex128}.get(n_states * dtype.itemsize)
        self.rows = rows if wide is None else rows.view(wide).view(-1)
        self.code_dtype = torch.uint8 if len(rows) <= 256 else torch.int16

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        """(B, L, L) states, L at least 3; ``out``: contiguous, of ``B L^2 N`` numbers."""
        size = x.shape[-1]
        symbols = _wrapped(x, self.code_dtype)
        powers = symbols if self.exponent == 1 else symbols * symbols
        for _ in range(2, self.exponent):
            powers *= symbols
        code = _neighbor_sum(powers)
        code.add_(symbols.view(-1)[size + 2 : -size - 2], alpha=self.stride)
        code = _unwrapped(code, len(symbols), size).int().view(-1)
        as_rows = (
            out.view(-1, out.shape[-1])
            if self.rows.ndim == 2
            else out.view(self.rows.dtype).view(-1)
        )
        torch.index_select(self.rows, 0, code, out=as_rows)
        return out


def _wrapped(states: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, L, L) -> (B, L + 2, L + 2) with the torus's opposite edge around each state."""
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
    """(B, L, L), a strided view of what :func:`_neighbor_sum` returns."""
    width = size + 2
    return flat.as_strided((batch, size, size), (width * width, width, 1), 1)
