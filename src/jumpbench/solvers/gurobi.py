"""Independent sets and cuts by Gurobi: optional, a second exact solver beside CP-SAT.

Its free licence of the pip package holds for up to 2000 variables and constraints: enough for
every graph of the DNFS tables.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.solvers.sat import for_each_graph
from jumpbench.targets.graphs import GraphLaw


def gurobi_independent_sets(laws: GraphLaw, seconds: float = 60.0) -> Tensor:
    """Maximum independent sets of padded graphs, (B, D) long.

    Raises:
        UserError: gurobipy or its licence is missing, or an optimum was not proven in time.
    """
    return for_each_graph(laws, _solver(_independent_set), seconds)


def gurobi_cuts(laws: GraphLaw, seconds: float = 60.0) -> Tensor:
    """Sides of maximum cuts of padded graphs, (B, D) long; node 0 is on side 0.

    Raises:
        UserError: gurobipy or its licence is missing, or an optimum was not proven in time.
    """
    return for_each_graph(laws, _solver(_cut), seconds)


def _independent_set(model: Any, node: list[Any], edges: list[tuple[int, int]]) -> Any:
    for i, j in edges:
        model.addConstr(node[i] + node[j] <= 1)
    return sum(node)


def _cut(model: Any, node: list[Any], edges: list[tuple[int, int]]) -> Any:
    """An edge counts at most what its ends differ by; it may be 1 only if they do."""
    model.addConstr(node[0] == 0)
    crossing = []
    for i, j in edges:
        edge = model.addVar(ub=1.0)
        model.addConstr(edge <= node[i] + node[j])
        model.addConstr(edge <= 2 - node[i] - node[j])
        crossing.append(edge)
    return sum(crossing)


def _solver(objective: Callable[[Any, list[Any], list[tuple[int, int]]], Any]) -> Any:
    try:
        import gurobipy
    except ImportError:
        raise UserError("gurobipy is missing: pip install gurobipy, or use CP-SAT") from None

    def solve(adjacency: Tensor, seconds: float) -> Tensor:
        try:
            with (
                gurobipy.Env(params={"OutputFlag": 0}) as environment,
                gurobipy.Model(env=environment) as model,
            ):
                model.Params.TimeLimit, model.Params.Threads = seconds, 1
                node = [model.addVar(vtype="B") for _ in range(len(adjacency))]
                edges = [tuple(pair) for pair in adjacency.triu(1).nonzero().tolist()]
                model.setObjective(objective(model, node, edges), gurobipy.GRB.MAXIMIZE)
                model.optimize()
                if model.Status != gurobipy.GRB.OPTIMAL:
                    raise UserError(f"no proven optimum within {seconds:g} s: raise seconds")
                return torch.tensor([round(variable.X) for variable in node])
        except gurobipy.GurobiError as error:
            raise UserError(f"Gurobi: {error}; use CP-SAT where it has no licence") from None

    return solve
