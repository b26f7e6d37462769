"""Laws on graphs: ratios by brute force, padding, decoders, bad graphs."""

import itertools

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.targets.base import generic_neighbor_log_ratios
from jumpbench.targets.graphs import Cuts, Graphs, IndependentSets, joined

TWO = [(5, [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]), (4, [(0, 1), (2, 3), (1, 3)])]
LAWS = [IndependentSets, Cuts]


def doubled(law):
    graphs = Graphs(law.graphs.adjacency.double(), law.graphs.sizes, law.graphs.distances)
    return type(law)(graphs, law.beta.double())


def all_bits(n):
    return torch.tensor(list(itertools.product((0, 1), repeat=n)))


@pytest.mark.parametrize("kind", LAWS)
def test_flip_ratios_are_those_of_log_prob(kind):
    for number in range(2):
        one = doubled(kind(Graphs.of(TWO, 6).rows(torch.tensor([number])), beta=1.3))
        law = one.rows(torch.zeros(32, dtype=torch.long))
        x = torch.nn.functional.pad(all_bits(5), (0, 1)) * law.mask
        brute = generic_neighbor_log_ratios(one.log_prob, x, 2) * law.mask[..., None]
        assert (law.neighbor_log_ratios(x) - brute).abs().max() < 1e-12
        assert torch.equal(one.neighbor_log_ratios(x), law.neighbor_log_ratios(x))
        assert brute.abs().max() > 1


@pytest.mark.parametrize("kind", LAWS)
def test_rows_join_and_padding_keep_every_law(kind):
    x = all_bits(4)[5:9]
    narrow = kind(Graphs.of(TWO[1:]).rows(torch.zeros(4, dtype=torch.long)), beta=2.0)
    law = kind(Graphs.of(TWO[:1], 9), 1.0).joined([kind(Graphs.of(TWO[1:], 9), 2.0)])
    wide = law.rows(torch.tensor([1, 1, 1, 1]))
    padded = torch.nn.functional.pad(x, (0, 5))
    assert torch.equal(wide.log_prob(padded), narrow.log_prob(x))
    assert torch.equal(wide.neighbor_log_ratios(padded)[:, :4], narrow.neighbor_log_ratios(x))
    assert (wide.neighbor_log_ratios(padded)[:, 4:] == 0).all()
    assert torch.equal(wide.score(padded), narrow.score(x))


def test_cut_counts_edges_between_the_sides():
    law = Cuts(Graphs.of(TWO[:1]), beta=1.7)
    x = all_bits(5)
    count = torch.tensor([sum(row[i] != row[j] for i, j in TWO[0][1]) for row in x.tolist()])
    assert torch.equal(law.score(x), count.float())
    offset = law.log_prob(x) - 1.7 * count
    assert (offset - offset[0]).abs().max() < 1e-5


def test_repair_gives_independent_sets_no_smaller_than_the_objective():
    law = IndependentSets(Graphs.of(TWO[:1]), beta=1.0, penalty=1.0)
    x = all_bits(5)
    sets = law.decoded(x)
    conflicts = torch.tensor([sum(row[i] & row[j] for i, j in TWO[0][1]) for row in sets.tolist()])
    assert (conflicts == 0).all()
    assert (law.score(sets) >= law.log_prob(x) - 1e-5).all()
    independent = law.log_prob(x).round() == x.sum(-1)
    assert torch.equal(sets[independent], x[independent])
    assert law.decoded(torch.tensor([[1, 1, 1, 0, 0]])).tolist() == [[1, 0, 1, 0, 0]]


def test_shortest_paths():
    graphs = Graphs.of(TWO, 6)
    assert graphs.distances[0, 0].tolist() == [0, 1, 2, 1, 2, -1]
    assert graphs.distances[1, 0].tolist() == [0, 1, 3, 2, -1, -1]


def test_relabelling_is_an_isomorphism():
    graphs = joined([Graphs.of(TWO, 6), Graphs.of(TWO, 6)])
    other = graphs.relabelled(torch.Generator().manual_seed(0))
    assert not torch.equal(other.adjacency, graphs.adjacency)
    for name in ("adjacency", "distances"):
        before, after = (getattr(g, name).flatten(1).sort(1).values for g in (graphs, other))
        assert torch.equal(before, after)
    assert torch.equal(other.adjacency, other.adjacency.mT)
    assert (other.adjacency[~other.mask] == 0).all()
    assert torch.equal(other.distances == 1, other.adjacency == 1)


@pytest.mark.parametrize(
    "graph, length, message",
    [
        ((3, [(0, 1), (2, 2)]), None, "self-loop at node 2"),
        ((3, []), None, "no edges"),
        ((3, [(0, 3)]), None, r"outside 0\.\.2"),
        ((7, [(0, 1)]), 6, "graph 0 has 7 nodes, the padding holds 1 to 6"),
    ],
)
def test_bad_graphs_are_named(graph, length, message):
    with pytest.raises(UserError, match=message):
        Graphs.of([graph], length)


def test_a_penalty_below_one_is_refused():
    with pytest.raises(UserError, match=r"penalty of 0\.5"):
        IndependentSets(Graphs.of(TWO), penalty=0.5)
