"""Travelling salesman without learning: local search and solvers over the test instances."""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.data.lists import Batch
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.base import Method
from jumpbench.samplers.draws import Draws
from jumpbench.solvers.tour_search import multi_start
from jumpbench.solvers.tour_solvers import held_karp, solve_lkh, solve_ortools

Solver = Callable[[Tensor, torch.Generator], Tensor]


def two_opt(
    coords: Tensor, generator: torch.Generator, n_starts: int = 5, or_opt: bool = False
) -> Tensor:
    """Best-improvement 2-opt from ``n_starts`` uniformly random tours, (B, n_starts, n).

    Raises:
        UserError: no start.
    """
    if n_starts < 1:
        raise UserError(f"n_starts={n_starts}: the search needs 1 or more (method.solver.n_starts)")
    return multi_start(coords, n_starts, generator, or_opt).tours


def dynamic_programme(coords: Tensor, generator: torch.Generator) -> Tensor:
    """Optimal tours (B, 1, n) of at most 12 cities."""
    return held_karp(coords)[:, None]


def proven_optimum(coords: Tensor, generator: torch.Generator, seconds: float = 60.0) -> Tensor:
    """Tours (B, 1, n) that OR-Tools proved optimal; ``seconds`` is the limit per instance.

    Raises:
        UserError: ortools is missing, or an instance was not proven in time.
    """
    tours, proven = solve_ortools(coords, seconds)
    if not proven.all():
        raise UserError(
            f"ortools left {(~proven).sum()} of {len(proven)} tours unproven after {seconds} s "
            "each: raise method.solver.seconds"
        )
    return tours[:, None]


def lin_kernighan(coords: Tensor, generator: torch.Generator, runs: int = 10) -> Tensor:
    """Tours (B, 1, n) by LKH (``elkai``, opt-in)."""
    return solve_lkh(coords, runs)[:, None]


class TourSolver(Method):
    """Solve every test instance, with nothing to train.

    The sample of an instance is the solver's first tour, all its tours are ``extras["tours"]``.

    Args:
        solver: coordinates (B, n, 2) and a generator -> tours (B, S, n).
    """

    def __init__(self, solver: Solver, evaluation: Evaluation | None = None, seed: int = 0) -> None:
        super().__init__(seed, evaluation)
        self.solver = solver

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        tours = self.solver(batch["objects"], generator)
        return Draws(tours[:, 0], extras={"tours": tours})
