"""Graphs to solve: random families with fixed seeds, or a folder of graph files."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.data.graph_files import read_folder
from jumpbench.errors import DataMissing, UserError
from jumpbench.seeding import make_generator
from jumpbench.targets.graphs import Graphs

Graph = tuple[int, list[tuple[int, int]]]
Family = Callable[[torch.Generator], Graph]


def erdos_renyi(
    generator: torch.Generator, low: int, high: int, probability: float = 0.15
) -> Graph:
    """Every pair an edge with ``probability``, n uniform in low..high, isolated nodes removed.

    Drawn again where fewer than ``low`` nodes are left: with probability 0.15 this reproduces the
    optima that the paper prints for ER16-20, ER32-40 and ER64-75.
    """
    while True:
        n = int(torch.randint(low, high + 1, (1,), generator=generator))
        upper = (torch.rand(n, n, generator=generator) < probability).triu(1)
        connected = (upper | upper.T).any(0)
        if int(connected.sum()) >= low:
            return int(connected.sum()), _pairs(upper[connected][:, connected])


def barabasi_albert(generator: torch.Generator, low: int, high: int, attachment: int = 4) -> Graph:
    """From a star of m + 1 nodes, every further node joins m distinct ones by their degree."""
    n = int(torch.randint(low, high + 1, (1,), generator=generator))
    edges = [(0, node) for node in range(1, attachment + 1)]
    ends = [node for edge in edges for node in edge]
    for node in range(attachment + 1, n):
        targets: set[int] = set()
        while len(targets) < attachment:
            targets.add(ends[int(torch.randint(len(ends), (1,), generator=generator))])
        edges += [(other, node) for other in sorted(targets)]
        ends += [end for other in sorted(targets) for end in (other, node)]
    return n, edges


def xu(
    generator: torch.Generator,
    probability: float,
    cliques: Sequence[Sequence[int]] = ((8, 4), (8, 5), (9, 4), (10, 4)),
) -> Graph:
    """Model RB: n cliques of k nodes, (n, k) drawn from ``cliques``, and edges between cliques.

    alpha = log k / log n, r = -alpha / log(1 - p); int(r n log n - 1) times, min(s, free) edges not
    used yet between two different cliques, s = int(p n^(2 alpha)). At p = 1 cliques are disjoint.
    """
    n, k = cliques[int(torch.randint(len(cliques), (1,), generator=generator))]
    nodes = torch.arange(n * k)
    adjacency = (nodes[:, None] // k == nodes // k).triu(1)
    alpha = math.log(k) / math.log(n)
    r = 0.0 if probability >= 1 else -alpha / math.log(1 - probability)
    for _ in range(max(int(r * n * math.log(n) - 1), 0)):
        a, b = sorted(torch.randperm(n, generator=generator)[:2].tolist())
        block = adjacency[a * k : (a + 1) * k, b * k : (b + 1) * k]
        free = (~block).nonzero()
        take = torch.randperm(len(free), generator=generator)[: int(probability * n ** (2 * alpha))]
        block[free[take, 0], free[take, 1]] = True
    return n * k, _pairs(adjacency)


def _pairs(upper: Tensor) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in upper.nonzero()]


class Pool:
    """Graphs to train on; the batch of every training step is the whole pool."""

    def __init__(self, graphs: Graphs) -> None:
        self.graphs = graphs

    def draw(self, count: int, generator: torch.Generator) -> Graphs:
        """Distinct graphs, with their nodes in a random order."""
        order = torch.randperm(len(self.graphs), generator=generator, device=generator.device)
        index = order[:count].to(self.graphs.sizes.device)
        return self.graphs.rows(index).to(generator.device).relabelled(generator)


class GraphData(LightningDataModule):
    """Train and test graphs, padded to one length.

    Args:
        family: partial of a generator above; or give ``folder``.
        folder: of graph files (:mod:`jumpbench.data.graph_files`) in ``train`` and ``test``.
        length: padded number of nodes; by default that of the largest graph.
        n_train: number of training graphs of a family.
        n_test: number of test graphs.
        batch_size: graphs of a test batch.
        seed: of a family; not the run's.

    Raises:
        UserError: neither or both sources, or counts below one.
        DataMissing: a folder without graphs.
    """

    def __init__(
        self,
        family: Family | None = None,
        folder: str | None = None,
        length: int | None = None,
        n_train: int = 1000,
        n_test: int = 100,
        batch_size: int = 25,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if (family is None) == (folder is None):
            raise UserError("graph data needs one of family and folder")
        if min(n_train, n_test, batch_size) < 1:
            raise UserError("n_train, n_test and batch_size must be at least 1")
        self.family, self.folder, self.length = family, folder, length
        self.counts = {"train": n_train, "test": n_test}
        self.batch_size, self.seed = batch_size, seed
        self._graphs: dict[str, Graphs] = {}

    def graphs(self, split: str) -> Graphs:
        """All graphs of a split, made or read once."""
        if split not in self._graphs:
            listed = self._listed(split)
            self._graphs[split] = Graphs.of(listed, self.padded_length)
        return self._graphs[split]

    @property
    def padded_length(self) -> int:
        if self.length is None:
            sizes = [n for split in self.counts for n, _ in self._listed(split)]
            self.length = max(sizes)
        return self.length

    def _listed(self, split: str) -> list[Graph]:
        if self.folder is not None:
            graphs = read_folder(Path(self.folder) / split)
            if not graphs:
                raise DataMissing(f"{self.folder}/{split} holds no graph files: put *.txt there")
            return graphs
        assert self.family is not None
        generator = make_generator(self.seed, "graphs", split)
        return [self.family(generator) for _ in range(self.counts[split])]

    def train_dataloader(self) -> DataLoader:
        pool = Pool(self.graphs("train"))
        return DataLoader(
            EndlessBatches(lambda number: pool, self.trainer, whole=True), batch_size=None
        )

    def test_dataloader(self) -> DataLoader:
        graphs, size = self.graphs("test"), self.batch_size

        def batch(number: int) -> Graphs:
            index = torch.arange(len(graphs))[number * size : (number + 1) * size]
            return graphs.rows(index)

        return numbered_loader(batch, -(-len(graphs) // size), self.trainer)
