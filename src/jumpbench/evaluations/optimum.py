"""Samples of a law that is too large to enumerate, against its proven optimum."""

import torch

from jumpbench.errors import UserError
from jumpbench.evaluations.own_numbers import OwnNumbersEvaluation, above
from jumpbench.solvers.independent_sets import maximum_independent_set
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.boltzmann import BoltzmannMachine


class OptimumEvaluation(OwnNumbersEvaluation):
    """Judges samples of a hard-core model by its largest independent set, proven by a solver.

    Results: those of :class:`~jumpbench.evaluations.own_numbers.OwnNumbersEvaluation`;
    ``best_gap``, the energy of the best sample above that of the optimum, in nodes (an edge between
    two chosen ones counts 2); ``ground_share``, the share of
    samples that reach it.

    Args:
        target: of :func:`~jumpbench.targets.boltzmann.hard_core`.
        seconds: that the solver may take.

    Raises:
        UserError: another target; (when judging) ortools is missing, or too few seconds.
    """

    def __init__(self, target: DiscreteTarget, seconds: float = 60.0) -> None:
        if not _is_hard_core(target):
            raise UserError(f"{type(target).__name__} is no hard-core model of a graph")
        super().__init__(target)
        self.seconds = seconds

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        values = super().results()
        assert isinstance(self.target, BoltzmannMachine)
        best = maximum_independent_set((self.target.couplings != 0).long(), self.seconds)
        return values | above(self._energies, float(self.target.energy(best[None])))


def _is_hard_core(target: DiscreteTarget) -> bool:
    """Whether J = -c A and h = 1/2 - c deg with c > 1/4: a node gains 1, a conflict costs 4 c."""
    if not isinstance(target, BoltzmannMachine):
        return False
    adjacency = (target.couplings != 0).to(target.couplings)
    cost = -target.couplings.min()
    return bool(
        (not adjacency.any() or cost > 0.25)
        and torch.allclose(target.couplings, -cost * adjacency)
        and torch.allclose(target.fields, 0.5 - cost * adjacency.sum(1))
    )
