"""Tori of equal bonds row by row: densities of states, ground states, laws and exact draws.

A bond is satisfied where its two symbols are equal, or, if it is antiferromagnetic, where they
differ. With n satisfied bonds the energy is ``offset - scale n``, so that an Ising torus, a +-J
glass and a Potts torus (which may have bonds of both kinds) are one counting problem: a transfer
matrix between rows, with a polynomial in n (or in the number of sites that agree with a reference)
as its entries, for every first row apart, since the last row meets the first.
"""

from functools import cached_property

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.boltzmann import SpinGlass
from jumpbench.targets.enumeration import all_states
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts

MOST_ROWS = 256
"""Rows of eight spins, or of four symbols of four kinds."""


class TorusRows:
    """Exact values of an L x L torus; everything float64 on the CPU.

    Args:
        size: L.
        n_states: N.
        right: (L, L), True where the bond to the right neighbour wants equal symbols.
        down: likewise to the neighbour below.
        weight: log nu of one more satisfied bond, at least 0.
        scale: energy that a satisfied bond gains.
        offset: energy at none; log nu = -(weight / scale) (offset - scale n).

    Raises:
        UserError: N^L rows are more than 256.
    """

    def __init__(
        self, size: int, n_states: int, right: Tensor, down: Tensor, weight: float,
        scale: float = 1.0, offset: float = 0.0,
    ) -> None:  # fmt: skip
        if n_states**size > MOST_ROWS:
            raise UserError(
                f"{n_states}^{size} rows are too many for exact values (at most {MOST_ROWS})"
            )
        self.size, self.n_states = size, n_states
        self.weight, self.scale, self.offset = weight, scale, offset
        self.rows = all_states(size, n_states).long()
        equal = self.rows[:, None] == self.rows
        beside = self.rows == self.rows.roll(-1, 1)
        # Satisfied bonds within each row i, (L, R), and from row i to the next, (L, R, R).
        self.within = torch.stack([(beside == wants).sum(-1) for wants in right])
        self.between = torch.stack([(equal == wants).sum(-1) for wants in down])

    @classmethod
    def of(cls, target: DiscreteTarget) -> "TorusRows | None":
        """The rows of an Ising torus without field, of a Potts torus or of a glass, if they are
        few; None of any other target."""
        kind = next((k for k in (Ising, Potts, SpinGlass) if isinstance(target, k)), None)
        if kind is None or not _is_unchanged(target, kind):
            return None
        assert isinstance(target, Ising | Potts | SpinGlass)
        if isinstance(target, Ising) and target.external_field:
            return None
        if target.n_states**target.size > MOST_ROWS or not target.beta:
            return None
        n_bonds = 2 * target.size**2
        if isinstance(target, SpinGlass):
            right, down, coupling = target.right > 0, target.down > 0, 1.0
        else:
            coupling = target.coupling
            right = down = torch.full((target.size, target.size), coupling > 0)
        if not coupling:
            return None
        # Potts of negative coupling: an unequal bond is satisfied and costs |J| less.
        spins, strength = not isinstance(target, Potts), abs(coupling)
        scale = 2 * strength if spins else strength
        offset = n_bonds * strength * (spins or coupling < 0)
        return cls(
            target.size, target.n_states, right, down, target.beta * scale, scale, offset
        )  # fmt: skip

    @cached_property
    def counts(self) -> Tensor:
        """Number of states (2 L^2 + 1,) with n satisfied bonds."""
        degree, size = 2 * self.size**2 + 1, self.size
        first = torch.arange(len(self.rows))
        poly = torch.zeros(len(first), degree, len(first), dtype=torch.float64)
        poly[first, self.within[0], first] = 1.0
        for i in range(1, size):
            poly = _shifted(self._passed(poly, self.between[i - 1]), self.within[i])
        closed = self.between[-1].T.unsqueeze(1).expand(-1, degree, -1)  # (first, n, last)
        n = torch.arange(degree)[:, None] + closed
        total = torch.zeros(degree + size, dtype=torch.float64)
        return total.index_add_(0, n.flatten(), poly.flatten())[:degree]

    def _passed(self, poly: Tensor, between: Tensor) -> Tensor:
        """Polynomials (R, n, R) of one row less taken through the bonds to the next row."""
        out = torch.zeros_like(poly)
        for v in range(self.size + 1):
            part = poly @ (between == v).double()
            out[:, v:] += part[:, : poly.shape[1] - v]
        return out

    @property
    def energies(self) -> Tensor:
        """(2 L^2 + 1,), of n satisfied bonds."""
        return self.offset - self.scale * torch.arange(len(self.counts), dtype=torch.float64)

    @property
    def log_z(self) -> float:
        log_nu = -(self.weight / self.scale) * self.energies
        return float((self.counts.log() + log_nu).logsumexp(0))

    @property
    def bond_law(self) -> Tensor:
        """Law (2 L^2 + 1,) of the number of satisfied bonds."""
        n = torch.arange(len(self.counts), dtype=torch.float64)
        return (self.counts.log() + self.weight * n).softmax(0)

    @property
    def ground(self) -> tuple[float, int]:
        """Lowest energy, and the number of states that have it."""
        n = int(self.counts.nonzero().max())
        return float(self.energies[n]), int(self.counts[n])

    def ground_state(self) -> Tensor:
        """One state (D,) of the lowest energy: the best last row of every first one, backwards."""
        best = torch.full((len(self.rows),) * 2, -torch.inf).double()
        best.diagonal().copy_(self.within[0])
        choices = []
        for i in range(1, self.size):
            step = best[:, :, None] + self.between[i - 1]  # (first, before, now)
            values, before = step.max(1)
            best = values + self.within[i]
            choices.append(before)
        first, row = divmod(int((best + self.between[-1].T).argmax()), len(self.rows))
        path = [row]
        for before in reversed(choices):
            path.append(int(before[first, path[-1]]))
        return self.rows[path[::-1]].flatten()

    def agreement_law(self, reference: Tensor) -> Tensor:
        """Law (L^2 + 1,) of the number of sites that agree with a state (D,).

        With the state of all 1 (Ising) or all 0 (Potts): of the magnetisation.
        """
        agree = torch.stack(
            [(self.rows == part).sum(-1) for part in reference.view(self.size, self.size)]
        )
        forward = torch.zeros(len(self.rows), self.size**2 + 1, len(self.rows), dtype=torch.float64)
        first = torch.arange(len(self.rows))
        forward[first, agree[0], first] = self._within[0]
        for i in range(1, self.size):
            forward = _shifted(forward @ self._between[i - 1], agree[i]) * self._within[i]
        law = torch.einsum("anr,ra->n", forward, self._between[-1])
        return law / law.sum()

    @cached_property
    def _within(self) -> Tensor:
        """exp(weight (n - L)), at most 1, so that nothing overflows."""
        return (self.weight * (self.within - self.size).double()).exp()

    @cached_property
    def _between(self) -> Tensor:
        return (self.weight * (self.between - self.size).double()).exp()

    @cached_property
    def _forward(self) -> list[Tensor]:
        """Weights (first row, row i) of the rows up to i."""
        sums = [self._within[0].diag()]
        for i in range(1, self.size):
            sums.append(sums[-1] @ self._between[i - 1] * self._within[i])
        return sums

    def draw(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Independent draws (n, D) of the law: first and last row, then backwards."""
        ends = (self._forward[-1] * self._between[-1].T).flatten()
        index = _drawn(ends, _uniforms((n,), generator))
        first, row = index // len(self.rows), index % len(self.rows)
        path = [row]
        for i in reversed(range(1, self.size - 1)):
            weights = self._forward[i][first] * self._between[i][:, path[-1]].T
            path.append(_drawn(weights, _uniforms((n, 1), generator))[:, 0])
        return torch.cat([self.rows[index] for index in [first, *reversed(path)]], -1)


def _is_unchanged(target: DiscreteTarget, kind: type) -> bool:
    """Whether a subclass has the law of its class: its own ``log_prob`` may say anything."""
    own = type(target)
    return own.log_prob is kind.log_prob and own.energy is kind.energy  # type: ignore[attr-defined]


def _shifted(poly: Tensor, by: Tensor) -> Tensor:
    """poly (R, n, R), row r's coefficients moved up by ``by[r]``."""
    out = torch.zeros_like(poly)
    for v in by.unique().tolist():
        out[:, v:, by == v] = poly[:, : poly.shape[1] - v, by == v]
    return out


def _drawn(weights: Tensor, u: Tensor) -> Tensor:
    """Indices of the last axis of ``weights`` (..., R) at uniform numbers (..., n)."""
    running = weights.cumsum(-1)
    index = torch.searchsorted(running, u * running[..., -1:], right=True)
    return index.clamp(max=weights.shape[-1] - 1)


def _uniforms(shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
    """On the CPU, wherever the generator is."""
    device = "cpu" if generator is None else generator.device
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=device).cpu()
