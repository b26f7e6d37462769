"""One categorical draw per site from a fixed table of laws: the fast form of a prior step.

Where sites are independent and alike, any composition of reverse steps is one N x N matrix per
site. The rows of such a matrix are held as alias tables (Walker 1977) packed into 31-bit words: a
draw takes one word of random bits and one look-up, whatever N is.
"""

import torch
from torch import Tensor

_WORD = 31


class SiteKernel:
    """r -> v with probability ``matrix[r, v]``, for row numbers r of all sites and chains at once.

    For a move of symbols the rows are the current symbols and the matrix is N x N.

    The random word of a draw has k = ceil(log2 N) bits that choose a column of the alias table
    and 31 - k that choose between the column and its alias, so every probability is right to
    2^(k-32) (1.5e-8 for N = 50) and an impossible symbol is never drawn.

    Args:
        matrix: row-stochastic (R, N).
        network_calls: score evaluations that a prior without this closed form would have needed.

    Raises:
        ValueError: rows that are negative or do not sum to 1.
    """

    def __init__(self, matrix: Tensor, network_calls: int = 0) -> None:
        _check(matrix)
        self._set(matrix, pack_alias(matrix), network_calls)

    def _set(self, matrix: Tensor, table: Tensor, network_calls: int) -> None:
        self.matrix = matrix
        self.network_calls = self.counted_calls = network_calls
        self._bits = _column_bits(matrix.shape[-1])
        self._table = table.reshape(-1)

    @classmethod
    def stack(cls, matrices: Tensor, network_calls: int = 0) -> list["SiteKernel"]:
        """One kernel per matrix (S, R, N); their tables are made in one go."""
        _check(matrices)
        kernels = []
        for matrix, table in zip(matrices, pack_alias(matrices), strict=True):
            kernel = cls.__new__(cls)
            kernel._set(matrix, table, network_calls)
            kernels.append(kernel)
        return kernels

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Draws for rows ``x`` of any shape; the result is int32, of the same shape."""
        if self._table.device != x.device:
            self._table = self._table.to(x.device)
        size, columns = x.numel(), 2**self._bits
        # Two words come with each 64-bit draw, which costs hardly more than a 32-bit one.
        words = torch.empty((size + 1) // 2, dtype=torch.int64, device=x.device)
        words = words.random_(generator=generator).view(torch.int32)[:size]
        words.bitwise_and_(2**_WORD - 1)
        cell = torch.add(words & (columns - 1), x.reshape(-1).to(torch.int32), alpha=columns)
        packed = self._table.index_select(0, cell)
        # All ones where the word lies below the threshold, without a (slow) torch.where.
        below = (words - (packed & -columns)).bitwise_right_shift_(_WORD)
        chosen = words.bitwise_xor_(packed).bitwise_and_(below).bitwise_xor_(packed)
        return chosen.bitwise_and_(columns - 1).view(x.shape)


def _column_bits(n_states: int) -> int:
    return max(1, (n_states - 1).bit_length())


def _check(matrix: Tensor) -> None:
    total = matrix.sum(-1)
    if bool((matrix < 0).any()) or not torch.allclose(total, torch.ones_like(total), atol=1e-5):
        raise ValueError("a site kernel has rows that are negative or do not sum to 1; normalise")


def pack_alias(weights: Tensor) -> Tensor:
    """Packed alias tables (..., 2^k), int32, of the rows of ``weights`` (..., N) >= 0.

    An entry holds its threshold in the upper 31 - k bits and its alias in the lower k. The rows
    are built side by side by the two-pointer sweep of Hübschle-Schneider and Sanders (2019): the
    current heavy column fills up light ones until it is light itself, then hands over to the next.
    """
    n_states = weights.shape[-1]
    bits = _column_bits(n_states)
    columns = 2**bits
    mass = weights.reshape(-1, n_states).double().cpu()
    mass = torch.nn.functional.pad(mass, (0, columns - n_states))
    mass *= columns / mass.sum(-1, keepdim=True)

    is_heavy = mass > 1
    light = torch.argsort(is_heavy.int(), dim=-1, stable=True)
    heavy = torch.argsort(is_heavy.int(), dim=-1, stable=True, descending=True)
    n_heavy = is_heavy.sum(-1, keepdim=True)
    threshold = torch.ones_like(mass)
    alias = torch.arange(columns).expand_as(mass).contiguous()
    i, j = torch.zeros_like(n_heavy), torch.zeros_like(n_heavy)
    rest = mass.gather(1, heavy[:, :1])
    for _ in range(columns):
        last = j + 1 >= n_heavy
        # The last heavy column serves all that is left, so that rounding leaves nobody behind.
        fill = ((rest > 1) | last) & (i < columns - n_heavy)
        hand_over = ~fill & ~last
        now = heavy.gather(1, j)
        following = heavy.gather(1, (j + 1).clamp(max=columns - 1))
        lightest = light.gather(1, i.clamp(max=columns - 1))
        settled = torch.where(fill, lightest, now)
        mass_light = mass.gather(1, lightest)
        value = torch.where(fill, mass_light, rest)
        partner = torch.where(fill, now, following)
        act = fill | hand_over
        threshold.scatter_(1, settled, torch.where(act, value, threshold.gather(1, settled)))
        alias.scatter_(1, settled, torch.where(act, partner, alias.gather(1, settled)))
        gained = torch.where(fill, mass_light, mass.gather(1, following))
        rest = torch.where(act, rest + gained - 1, rest)
        i, j = i + fill, j + hand_over
    levels = 2 ** (_WORD - bits)
    upper = (threshold.clamp(0, 1) * levels).round().long().clamp(max=levels - 1)
    # A column that keeps all its mass is its own alias, so the clamp above loses nothing.
    packed = (upper << bits) | torch.where(threshold >= 1, torch.arange(columns), alias)
    return packed.to(torch.int32).view(*weights.shape[:-1], columns)
