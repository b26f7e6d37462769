"""Parallel tempering as a method: a row of chains whose ladder is tuned in the burn-in."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.unnormalised.chains import Chains
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.parallel_tempering import Ladder, ParallelTempering, tuned
from jumpbench.targets.base import DiscreteTarget


class TemperedChains(Chains):
    """:class:`Chains` whose move is a round of parallel tempering; the cold states are kept.

    Powers start at equal steps from 0 to 1; after every burn-in they are moved to where all pairs
    would swap equally often, and during collection they stay. Further extras: ``swap_rate``, the
    least of the pairs in the collection, ``barrier``, the sum of their rejections, and
    ``round_trips``, per ladder and thousand rounds of the collection, and ``trips``, per ladder.

    Args:
        target: a positive law.
        kernel: see :class:`~jumpbench.samplers.parallel_tempering.ParallelTempering`.
        replicas: powers of a ladder, at least 2. Twice the barrier is a good number.
        moves: of the kernel in a round.
        kwargs: of :class:`Chains`; moves there are rounds here.

    Raises:
        UserError: fewer than two replicas.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        kernel: Kernel,
        replicas: int = 8,
        moves: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(target, kernel, **kwargs)
        if replicas < 2 or moves < 1:
            raise UserError(
                f"a ladder needs replicas >= 2 and moves >= 1, not {replicas} and {moves}"
            )
        self.replicas, self.tempering = replicas, ParallelTempering(kernel, moves)

    def start(self, n_chains: int, generator: torch.Generator) -> Tensor:
        """States (K B, D) of ``n_chains`` ladders, the hottest replicas first."""
        x = super().start(self.replicas * n_chains, generator)
        self._powers = torch.linspace(0, 1, self.replicas, dtype=torch.float64)
        seen = torch.zeros(self.replicas, n_chains, dtype=torch.uint8, device=x.device)
        self._ladder = Ladder(x.view(self.replicas, n_chains, -1), seen)
        self._collecting, self._rounds = False, 0
        self._trips = self._swaps = self._turns = torch.zeros(())
        return x

    def kept(self, x: Tensor) -> Tensor:
        return x.view(self.replicas, -1, self.target.length)[-1]

    def go_on(self, x: Tensor, moves: int, generator: torch.Generator) -> tuple[Tensor, Cost]:
        ladder = self._ladder._replace(x=x.view(self.replicas, -1, self.target.length))
        self._ladder, info = self.tempering(self.target, ladder, self._powers, moves, generator)
        if self._collecting:
            self._rounds += moves
            self._trips = self._trips + info.round_trips.double().mean()
            self._swaps = self._swaps + info.swap_rates.nan_to_num(nan=0.0) * info.turns
            self._turns = self._turns + info.turns
        elif moves > 1:
            self._powers = tuned(self._powers, info.swap_rates.cpu())
        # Each call counts the energies of the states that it is given, which a kernel knows that
        # starts with them.
        known = super()._start_cost(x).energy_evaluations
        spent = info.cost + Cost(energy_evaluations=-self.replicas * known)
        return self._ladder.x.flatten(0, 1), spent

    def _start_cost(self, x: Tensor) -> Cost:
        return super()._start_cost(x).scaled(self.replicas)

    def collect(
        self, x: Tensor, spacing: int, kept: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Cost]:
        self._collecting = True
        return super().collect(x, spacing, kept, generator)

    def observed(self) -> dict[str, float]:
        seen = self._turns > 0  # a single round has half of the pairs
        rates = self._swaps[seen] / self._turns[seen]
        return {
            "swap_rate": float(rates.min()),
            "barrier": float((1 - rates).sum()),
            "trips": float(self._trips),
            "round_trips": 1000 * float(self._trips) / self._rounds,
        }
