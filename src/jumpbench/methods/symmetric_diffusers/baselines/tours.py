"""Travelling salesman without learning: local search and solvers over the test instances."""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.data.lists import Batch
from jumpbench.errors import UserError
from jumpbench.methods.base import Method
from jumpbench.solvers.tour_search import multi_start
from jumpbench.solvers.tour_solvers import held_karp, solve_lkh, solve_ortools, tour_length

Solver = Callable[[Tensor, torch.Generator], Tensor]


def two_opt(
    coords: Tensor, generator: torch.Generator, n_starts: int = 5, or_opt: bool = False
) -> Tensor:
    """Best-improvement 2-opt from ``n_starts`` uniformly random tours, ``(B, n_starts, n)``."""
    return multi_start(coords, n_starts, generator, or_opt).tours


def dynamic_programme(coords: Tensor, generator: torch.Generator) -> Tensor:
    """Optimal tours ``(B, 1, n)`` of at most 12 cities."""
    return held_karp(coords)[:, None]


def proven_optimum(coords: Tensor, generator: torch.Generator, seconds: float = 60.0) -> Tensor:
    """Tours ``(B, 1, n)`` that OR-Tools proved optimal; ``seconds`` is the limit per instance.

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
    """Tours ``(B, 1, n)`` by LKH (``elkai``, opt-in)."""
    return solve_lkh(coords, runs)[:, None]


class TourSolver(Method):
    """Solve every test instance, with nothing to train.

    A solver may give several tours per instance (random starts). ``tour_length`` and ``gap`` are
    means over all of them, ``tour_length_best`` and ``gap_best`` take the shortest of each
    instance. The gap of a tour is (its length - the label's) / the label's, in percent, averaged
    over instances.

    Args:
        solver: coordinates ``(B, n, 2)`` and a generator -> tours ``(B, S, n)``.
    """

    def __init__(self, solver: Solver, seed: int = 0) -> None:
        super().__init__(seed)
        self.solver = solver

    def test_step(self, batch: Batch, batch_index: int) -> None:
        coords = batch["objects"]
        lengths = tour_length(coords[:, None], self.solver(coords, self.generator("starts")))
        label = tour_length(coords, batch["order"])[:, None]
        gaps = 100 * (lengths - label) / label
        each = {
            "tour_length": lengths.mean(1),
            "gap": gaps.mean(1),
            "tour_length_best": lengths.min(1).values,
            "gap_best": gaps.min(1).values,
            "label_length": label,
        }
        for name, values in each.items():
            self.log(f"test/{name}", values.mean(), batch_size=len(values), sync_dist=True)
        self.log("test/n_samples", float(len(coords)), reduce_fx="sum", sync_dist=True)
