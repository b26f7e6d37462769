"""Riffle shuffles (Gilbert-Shannon-Reeds) and a-shuffles, exact for any number of steps."""

from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.ops.random_words import random_bits
from jumpbench.processes.permutations import compose, identity, inverse, rising_sequences
from jumpbench.processes.shuffles.base import Shuffle, check_steps, check_times

# Largest number of riffles whose digits fit one non-negative 64-bit integer.
MAX_BITS = 62
# Up to so many riffles, dealing each by counting beats one stable sort of 64-bit digits (on a CPU,
# 64 lists of 100 objects: 0.02 ms a riffle against 0.25 ms a sort).
COUNTED = 10


class Riffle(Shuffle):
    """t riffles in one draw: an a-shuffle with ``a = 2^t``.

    Digit form: give every output position an independent digit in ``0..a-1``; then
    ``sigma^{-1} = stable_argsort(digits)``. Integers only, so no ties at any n, unlike the
    geometric form ``argsort(frac(a x))``, whose float32 version at n = 200 ties in almost every
    list from a = 2^12 on.
    """

    def sample(self, *batch_shape: int, generator: torch.Generator, steps: int = 1) -> Tensor:
        """sigma of ``steps`` riffles, ``(*batch_shape, n)``: O(n log n) for any ``steps``."""
        check_steps(steps)
        if steps > MAX_BITS:
            first = self.sample(*batch_shape, generator=generator, steps=MAX_BITS)
            rest = self.sample(*batch_shape, generator=generator, steps=steps - MAX_BITS)
            return compose(first, rest)
        if steps == 1:
            return riffle(random_bits((*batch_shape, self.n), generator))
        return a_shuffle(self._digits(batch_shape, steps, generator))

    def trajectory(
        self, *batch_shape: int, times: Sequence[int], generator: torch.Generator
    ) -> Tensor:
        """States at ``times``, ``(len(times), *batch_shape, n)``.

        The riffles of short gaps are dealt together, by counting. Longer gaps are one a-shuffle.
        """
        check_times(times)
        gaps = [b - a for a, b in zip([0, *times], times, strict=False)]
        shape = (*batch_shape, self.n)
        device = generator.device
        counted = sum(gap for gap in gaps if gap <= COUNTED)
        steps = iter(riffle(random_bits((counted, *shape), generator)).unbind(0))
        states = torch.empty((len(times), *shape), dtype=torch.long, device=device)
        state = identity(*batch_shape, n=self.n, device=device)
        for gap, out in zip(gaps, states.unbind(0), strict=True):
            if gap == 0:
                out.copy_(state)
            elif gap <= COUNTED:
                for _ in range(gap - 1):
                    state = state.gather(-1, next(steps))
                torch.gather(state, -1, next(steps), out=out)
            else:
                step = self.sample(*batch_shape, generator=generator, steps=gap)
                torch.gather(state, -1, step, out=out)
            state = out
        return states

    def log_prob(self, sigma: Tensor, steps: int = 1) -> Tensor:
        """log q^(t)(sigma) = log C(n + 2^t - r, n) - t n log 2, r the rising sequences.

        Shape (..., n) -> (...), float64; -inf where ``2^t < r``. For ``steps = 0`` the law is
        the point mass at the identity.
        """
        self._check(sigma)
        check_steps(steps)
        table = self.log_prob_table(steps).to(sigma.device)
        return table[rising_sequences(sigma) - 1]

    def log_prob_table(self, steps: int) -> Tensor:
        """log q^(t) by number of rising sequences r = 1..n, (n,) float64.

        Evaluated as ``sum_{i=1}^n log((a - r + i) / a) - log n!``, which neither overflows nor
        cancels for any a = 2^t.
        """
        r = torch.arange(1, self.n + 1, dtype=torch.float64)
        i = torch.arange(1, self.n + 1, dtype=torch.float64)
        relative = (i - r[:, None]) / 2.0**steps
        log_factors = torch.log1p(relative.clamp(min=-1.0))
        return log_factors.sum(-1) - torch.lgamma(torch.tensor(self.n + 1.0, dtype=torch.float64))

    def _digits(
        self, batch_shape: tuple[int, ...], bits: int, generator: torch.Generator
    ) -> Tensor:
        return torch.randint(
            2**bits, (*batch_shape, self.n), generator=generator, device=generator.device
        )


def a_shuffle(digits: Tensor) -> Tensor:
    """sigma of an a-shuffle from the digit of every output position, (..., n)."""
    return inverse(digits.argsort(dim=-1, stable=True))


def riffle(right: Tensor) -> Tensor:
    """sigma of one riffle from the pile of every output position, (..., n): 0 left, 1 right.

    Counting instead of sorting: the j-th position of the left pile holds object j, the j-th
    position of the right pile holds object (size of the left pile) + j.
    """
    # Small integers, in place and without a branch per element: on CPU memory traffic and `where`
    # cost more than the arithmetic.
    n = right.shape[-1]
    dtype = torch.int16 if n < 2**14 else torch.int32
    rights = right.cumsum(-1, dtype=dtype)
    lefts = torch.arange(n, dtype=dtype, device=right.device) - rights
    top_of_right = n - 1 - rights[..., -1:]
    to_the_right = rights.sub_(lefts).add_(top_of_right)
    return to_the_right.mul_(right).add_(lefts).long()
