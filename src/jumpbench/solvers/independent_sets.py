"""Maximum independent sets, proven optimal by OR-Tools CP-SAT."""

from torch import Tensor

from jumpbench.solvers.sat import cp_model, for_each_graph, solved
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
    return for_each_graph(laws, maximum_independent_set, seconds)
