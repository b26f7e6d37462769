"""The OR-Tools CP-SAT solver: optional, one thread, optimal or an error."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.graphs import GraphLaw


def cp_model() -> Any:
    """The module ``ortools.sat.python.cp_model``.

    Raises:
        UserError: ortools is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise UserError("ortools is missing: pip install -e '.[solvers]'") from None
    return cp_model


def solved(model: Any, variables: list[Any], seconds: float) -> Tensor:
    """Values (n,) long of 0-1 variables at the optimum.

    Raises:
        UserError: the optimum was not proven within ``seconds``.
    """
    solver = cp_model().CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.status_name(solver.solve(model))
    if status != "OPTIMAL":
        raise UserError(f"no proven optimum within {seconds:g} s ({status}): raise seconds")
    return torch.tensor([int(solver.value(variable)) for variable in variables])


def for_each_graph(
    laws: GraphLaw, solve: Callable[[Tensor, float], Tensor], seconds: float
) -> Tensor:
    """``solve(adjacency (n, n), seconds)`` for every graph, padded to (B, D) long.

    Raises:
        UserError: that of ``solve``, with the number of the graph.
    """
    solutions = torch.zeros(laws.mask.shape, dtype=torch.long)
    for number, size in enumerate(laws.graphs.sizes.tolist()):
        try:
            part = laws.graphs.adjacency[number, :size, :size]
            solutions[number, :size] = solve(part, seconds)
        except UserError as error:
            raise UserError(f"graph {number}: {error}") from None
    return solutions
