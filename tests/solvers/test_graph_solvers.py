"""Exact solvers of sets and cuts against trying all states."""

import sys

import pytest
import torch

from jumpbench.data.graphs import barabasi_albert, erdos_renyi
from jumpbench.errors import UserError
from jumpbench.solvers.cuts import maximum_cuts
from jumpbench.solvers.exhaustive import best_states
from jumpbench.solvers.gurobi import gurobi_cuts, gurobi_independent_sets
from jumpbench.solvers.independent_sets import maximum_independent_sets
from jumpbench.solvers.sat import for_each_graph
from jumpbench.targets.graphs import Cuts, Graphs, IndependentSets


def laws(kind):
    g = torch.Generator().manual_seed(0)
    family = erdos_renyi if kind is IndependentSets else barabasi_albert
    return kind(Graphs.of([family(g, 8, 11) for _ in range(6)], 12), 1.0)


@pytest.mark.parametrize(
    "kind, solve", [(IndependentSets, maximum_independent_sets), (Cuts, maximum_cuts)]
)
def test_cp_sat_finds_what_trying_all_finds(kind, solve):
    pytest.importorskip("ortools")
    law = laws(kind)
    found, best = solve(law), best_states(law)
    assert torch.equal(found, law.decoded(found)) and (found[~law.mask] == 0).all()
    assert torch.equal(law.score(found).double(), law.score(law.decoded(best)).double())


def test_a_solver_sees_each_graph_without_its_padding():
    law = laws(IndependentSets)
    seen = []

    def first_half(adjacency, seconds):
        seen.append((adjacency, seconds))
        return (torch.arange(len(adjacency)) < len(adjacency) // 2).long()

    states = for_each_graph(law, first_half, 3.0)
    sizes = law.graphs.sizes.tolist()
    assert len(set(sizes)) > 1 and [len(a) for a, _ in seen] == sizes
    assert states.shape == law.mask.shape and states.sum(1).tolist() == [n // 2 for n in sizes]
    for number, (adjacency, seconds) in enumerate(seen):
        assert seconds == 3.0 and adjacency.shape == 2 * (sizes[number],)
        assert adjacency.sum() == law.graphs.adjacency[number].sum()

    def gives_up(adjacency, seconds):
        raise UserError("no proven optimum")

    with pytest.raises(UserError, match="graph 0: no proven optimum"):
        for_each_graph(law, gives_up, 3.0)


@pytest.mark.parametrize(
    "kind, solve", [(IndependentSets, gurobi_independent_sets), (Cuts, gurobi_cuts)]
)
def test_gurobi_finds_what_trying_all_finds(kind, solve):
    pytest.importorskip("gurobipy")
    law = laws(kind)
    found, best = solve(law), best_states(law)
    assert torch.equal(found, law.decoded(found)) and (found[~law.mask] == 0).all()
    assert torch.equal(law.score(found).double(), law.score(law.decoded(best)).double())


def test_gurobi_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    with pytest.raises(UserError, match="gurobipy is missing: pip install"):
        gurobi_cuts(laws(Cuts))


def test_trying_all_is_refused_where_it_would_take_for_ever():
    big = Cuts(Graphs.of([(21, [(0, 1)])]))
    with pytest.raises(UserError, match="graph 0 has 21 nodes"):
        best_states(big)


def test_best_states_are_independent_sets():
    law = laws(IndependentSets)
    best = best_states(law)
    assert torch.equal(best, law.decoded(best))
