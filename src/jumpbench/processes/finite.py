"""Any Markov process on a few states, by matrix exponential: oracles, and processes of one's own.

Matrices have row = from, column = to, as the kernels of the other processes; the Blackout paper
writes the transpose.
"""

import torch
from torch import Tensor

from jumpbench.errors import UserError


class FiniteProcess:
    """A time-homogeneous jump process on states 0..N-1.

    Args:
        generator: (N, N) rates, off-diagonal >= 0, rows summing to zero.

    Raises:
        UserError: not such a matrix.
    """

    def __init__(self, generator: Tensor) -> None:
        generator = generator.double()
        if generator.ndim != 2 or generator.shape[0] != generator.shape[1]:
            raise UserError(f"a generator is a square matrix, not {tuple(generator.shape)}")
        scale = generator.abs().max().clamp(min=1.0)
        jumps = generator - torch.diag(generator.diagonal())
        if (jumps < 0).any() or (generator.sum(1).abs() > 1e-10 * scale).any():
            raise UserError(
                "a generator has non-negative rates off its diagonal and rows that sum to zero"
            )
        self.generator = generator
        self.n_states = len(generator)

    def transition(self, t: float) -> Tensor:
        """exp(t Q), (N, N)."""
        return torch.linalg.matrix_exp(self.generator * t)

    def marginal(self, law: Tensor, t: float) -> Tensor:
        """Law (..., N) at time t of a process that starts with ``law`` (..., N)."""
        return law.double() @ self.transition(t)

    def reverse_generator(self, law: Tensor) -> Tensor:
        """Generator (..., N, N) of the process run backwards at the time when its law is ``law``.

        From m to m': Q[m', m] law(m') / law(m). With the marginal of the noised data this is what
        a sampler needs; with the law given X_0 it is the conditional rate that a network averages.
        Rows of impossible states are zero.
        """
        law = law.double()
        ratio = law.unsqueeze(-2) / law.unsqueeze(-1)
        rates = torch.where((law > 0).unsqueeze(-1), self.generator.T * ratio, 0.0)
        rates = rates - torch.diag_embed(rates.diagonal(dim1=-2, dim2=-1))
        return rates - torch.diag_embed(rates.sum(-1))

    def bridge(self, start: int, end: int, s: float, t: float) -> Tensor:
        """p(X_s | X_0 = start, X_t = end), (N,)."""
        weights = self.transition(s)[start] * self.transition(t - s)[:, end]
        return weights / weights.sum()


def reverse_kernel(kernel: Tensor, before: Tensor) -> Tensor:
    """The discrete-time reversal (N, N) of a step ``kernel`` (N, N) from the law ``before`` (N,).

    From m to m': K[m', m] before(m') / after(m), staying included (Blackout, eq. 31). Rows of
    states that cannot be reached are zero.
    """
    joint = (before.unsqueeze(-1) * kernel).T
    after = joint.sum(-1, keepdim=True)
    return torch.where(after > 0, joint / after, 0.0)


def birth_death_generator(births: Tensor, deaths: Tensor) -> Tensor:
    """Generator (N, N) of rates ``births`` (N,) of m -> m + 1 and ``deaths`` (N,) of m -> m - 1.

    The last birth and the first death lead nowhere and are dropped.
    """
    rates = torch.diag(births[:-1].double(), 1) + torch.diag(deaths[1:].double(), -1)
    return rates - torch.diag(rates.sum(1))
