"""Graph families, files and batches."""

from functools import partial

import pytest
import torch

from jumpbench.data.graph_files import read_graph
from jumpbench.data.graphs import GraphData, Pool, barabasi_albert, erdos_renyi, xu
from jumpbench.errors import DataMissing, UserError
from jumpbench.solvers.exhaustive import best_states
from jumpbench.targets.graphs import Graphs, IndependentSets
from oracles import generator


def test_erdos_renyi_has_no_isolated_nodes_and_its_density():
    g, pairs, edges = generator(), 0, 0
    for _ in range(60):
        n, listed = erdos_renyi(g, 16, 20)
        assert 16 <= n <= 20 and len({node for edge in listed for node in edge}) == n
        pairs, edges = pairs + n * (n - 1) // 2, edges + len(listed)
    assert 0.15 < edges / pairs < 0.19  # above 0.15: isolated nodes are gone


def test_erdos_renyi_has_the_printed_optimum():
    """Mean maximum independent set of ER16-20: 9.03 +- 0.03 against the printed 8.92."""
    g = generator(1)
    graphs = Graphs.of([erdos_renyi(g, 16, 18) for _ in range(25)], 18)
    laws = IndependentSets(graphs, 1.0)
    sizes = laws.score(laws.decoded(best_states(laws))).double()
    assert abs(float(sizes.mean()) - 8.6) < 4 * float(sizes.std()) / 5  # n is 16 to 18 here


def test_barabasi_albert_has_four_edges_a_node():
    g = generator()
    for _ in range(20):
        n, edges = barabasi_albert(g, 16, 20)
        assert len(edges) == len(set(edges)) == 4 * (n - 4)
        degree = torch.bincount(torch.tensor(edges).flatten(), minlength=n)
        assert degree[5:].min() >= 4


def test_xu_has_an_independent_set_of_one_node_a_clique_at_most():
    n, edges = xu(generator(), 0.5)
    assert n in (32, 36, 40)
    inside = sum(i // 4 == j // 4 for i, j in edges)
    assert len(edges) > inside > 0
    n, edges = xu(generator(3), 1.0, cliques=((8, 4),))
    assert n == 32 and len(edges) == 8 * 6


def test_data_is_seeded_and_numbered():
    family = partial(erdos_renyi, low=6, high=8)
    one, other = (GraphData(family, n_train=5, n_test=7, batch_size=3) for _ in range(2))
    assert torch.equal(one.graphs("test").adjacency, other.graphs("test").adjacency)
    assert not torch.equal(one.graphs("train").sizes, one.graphs("test").sizes[:5])
    batches = list(one.test_dataloader())
    assert [len(b) for b in batches] == [3, 3, 1]
    assert torch.equal(torch.cat([b.sizes for b in batches]), one.graphs("test").sizes)
    pool = next(iter(one.train_dataloader()))
    drawn = pool.draw(4, generator())
    assert len(drawn) == 4 and isinstance(pool, Pool)
    assert sorted(pool.draw(5, generator()).sizes.tolist()) == sorted(pool.graphs.sizes.tolist())


def test_larger_graphs_than_the_padding_are_refused():
    data = GraphData(partial(erdos_renyi, low=6, high=8), length=5, n_train=2, n_test=2)
    with pytest.raises(UserError, match="the padding holds 1 to 5"):
        data.graphs("train")


def test_dimacs_and_edge_lists(tmp_path):
    (tmp_path / "a.col").write_text("c a comment\np edge 4 2\ne 1 2\ne 4 1\n")
    (tmp_path / "b.txt").write_text("# edges\n0 1\n\n1 5\n")
    assert read_graph(tmp_path / "a.col") == (4, [(0, 1), (3, 0)])
    assert read_graph(tmp_path / "b.txt") == (6, [(0, 1), (1, 5)])


@pytest.mark.parametrize(
    "text, message",
    [
        ("0 1\n1 x\n", "line 2: '1 x' is no edge"),
        ("0 1\n\n2 2\n", "line 3: '2 2' is a self-loop"),
        ("p edge four 2\n", "line 1.*is no header"),
        ("p edge 3 1\ne 1 4\n", r"line 2.*outside 1\.\.3"),
        ("p edge 3 1\ne 0 1\n", r"line 2.*outside 1\.\.3"),
        ("# nothing\n", "has no edges"),
    ],
)
def test_malformed_files_are_named_with_their_line(tmp_path, text, message):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_graph(path)


def test_a_folder_of_graphs(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "g.txt").write_text("0 1\n1 2\n")
    data = GraphData(folder=str(tmp_path))
    assert data.graphs("test").sizes.tolist() == [3] and data.padded_length == 3
    with pytest.raises(DataMissing, match="does not exist"):
        GraphData(folder=str(tmp_path / "nowhere")).graphs("train")
    (tmp_path / "test" / "g.txt").unlink()
    with pytest.raises(DataMissing, match="holds no graph files"):
        GraphData(folder=str(tmp_path)).graphs("test")
