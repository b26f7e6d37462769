"""Maximum independent sets, proven optimal by OR-Tools CP-SAT."""

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.solvers.sat import cp_model, solved
from jumpbench.targets.graphs import GraphLaw


def maximum_independent_set(adjacency: Tensor, seconds: float = 60.0) -> Tensor:
    """One optimal set of a graph (n, n), as bits (n,) long.

    Raises:
        UserError: ortools is missing, or the optimum was not proven in time.
    """
    cp = cp_model()
    model = cp.CpModel()
    chosen = [model.new_bool_var(str(node)) for node in range(len(adjacency))]
    for i, j in adjacency.triu(1).nonzero().tolist():
        model.add_bool_or(~chosen[i], ~chosen[j])
    model.maximize(sum(chosen))
    return solved(model, chosen, seconds)


def maximum_independent_sets(laws: GraphLaw, seconds: float = 60.0) -> Tensor:
    """Optimal sets of padded graphs, (B, D) long.

    Raises:
        UserError: as :func:`maximum_independent_set`, naming the graph.
    """
    sets = torch.zeros(laws.mask.shape, dtype=torch.long)
    for number, size in enumerate(laws.graphs.sizes.tolist()):
        try:
            part = laws.graphs.adjacency[number, :size, :size]
            sets[number, :size] = maximum_independent_set(part, seconds)
        except UserError as error:
            raise UserError(f"graph {number}: {error}") from None
    return sets
