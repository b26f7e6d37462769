"""Maximum cuts, proven optimal by OR-Tools CP-SAT."""

from torch import Tensor

from jumpbench.solvers.sat import cp_model, for_each_graph, solved
from jumpbench.targets.graphs import GraphLaw


def maximum_cut(adjacency: Tensor, seconds: float = 60.0) -> Tensor:
    """One optimal side of a graph (n, n), as bits (n,) long; node 0 is on side 0.

    An edge variable may be 1 only if its ends are on different sides.

    Raises:
        UserError: ortools is missing, or the optimum was not proven in time.
    """
    cp = cp_model()
    model = cp.CpModel()
    side = [model.new_bool_var(str(node)) for node in range(len(adjacency))]
    model.add(side[0] == 0)
    cut = []
    for i, j in adjacency.triu(1).nonzero().tolist():
        edge = model.new_bool_var(f"{i}-{j}")
        model.add_bool_or(side[i], side[j], ~edge)
        model.add_bool_or(~side[i], ~side[j], ~edge)
        cut.append(edge)
    model.maximize(sum(cut))
    return solved(model, side, seconds)


def maximum_cuts(laws: GraphLaw, seconds: float = 60.0) -> Tensor:
    """Optimal sides of padded graphs, (B, D) long.

    Raises:
        UserError: as :func:`maximum_cut`, naming the graph.
    """
    return for_each_graph(laws, maximum_cut, seconds)
