"""Independent sets and cuts as unnormalised laws, one law a graph, padded to one length.

Graphs of several sizes are one :class:`Graphs`; states (B, D) of bits belong to B graphs, row by
row. Padded nodes hold 0 and contribute nothing to a law.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.base import Target

Edges = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Graphs:
    """Simple graphs, padded at the end.

    Attributes:
        adjacency: (B, D, D) float32 of 0 and 1, symmetric, zero diagonal.
        sizes: number of nodes (B,) long.
        distances: (B, D, D) long, shortest paths in edges; -1 where there is none.
    """

    adjacency: Tensor
    sizes: Tensor
    distances: Tensor

    @classmethod
    def of(cls, graphs: Sequence[tuple[int, Edges]], length: int | None = None) -> "Graphs":
        """From (number of nodes, edges) each.

        Raises:
            UserError: no graph, no nodes or edges, a self-loop, a node out of range, or more nodes
                than ``length``.
        """
        if not graphs:
            raise UserError("there is no graph")
        sizes = torch.tensor([n for n, _ in graphs])
        length = length or int(sizes.max())
        adjacency = torch.zeros(len(graphs), length, length)
        for number, (n, edges) in enumerate(graphs):
            if not 1 <= n <= length:
                raise UserError(
                    f"graph {number} has {n} nodes, the padding holds 1 to {length}: raise the "
                    "padded length"
                )
            if not len(edges):
                raise UserError(f"graph {number} has no edges: every set is independent, drop it")
            ends = torch.tensor([tuple(edge) for edge in edges]).T
            if (ends[0] == ends[1]).any():
                node = int(ends[0][ends[0] == ends[1]][0])
                raise UserError(f"graph {number} has a self-loop at node {node}: remove it")
            if int(ends.min()) < 0 or int(ends.max()) >= n:
                raise UserError(f"graph {number} has an edge to a node outside 0..{n - 1}")
            adjacency[number, ends[0], ends[1]] = 1.0
            adjacency[number, ends[1], ends[0]] = 1.0
        return cls(adjacency, sizes, shortest_paths(adjacency))

    @property
    def mask(self) -> Tensor:
        """Real nodes (B, D), boolean."""
        site = torch.arange(self.adjacency.shape[-1], device=self.sizes.device)
        return site < self.sizes[:, None]

    @property
    def edges(self) -> Tensor:
        """Number of edges (B,), float32."""
        return self.adjacency.sum((1, 2)) / 2

    def __len__(self) -> int:
        return len(self.sizes)

    def rows(self, index: Tensor) -> "Graphs":
        """The graphs at ``index``, repeats allowed."""
        return Graphs(self.adjacency[index], self.sizes[index], self.distances[index])

    def to(self, device: torch.device | str) -> "Graphs":
        return Graphs(self.adjacency.to(device), self.sizes.to(device), self.distances.to(device))

    def relabelled(self, generator: torch.Generator) -> "Graphs":
        """Every graph with its nodes in a random order."""
        keys = torch.rand(self.mask.shape, generator=generator, device=generator.device)
        order = keys.masked_fill(~self.mask, 2.0).argsort(dim=1)
        rows = order[:, :, None].expand_as(self.adjacency)
        return Graphs(
            *(
                part.gather(1, rows).gather(2, rows.transpose(1, 2)) if part.dim() == 3 else part
                for part in (self.adjacency, self.sizes, self.distances)
            )
        )


def joined(graphs: Sequence[Graphs]) -> Graphs:
    """All graphs of several batches of one padded length."""
    return Graphs(
        torch.cat([g.adjacency for g in graphs]),
        torch.cat([g.sizes for g in graphs]),
        torch.cat([g.distances for g in graphs]),
    )


def shortest_paths(adjacency: Tensor) -> Tensor:
    """Lengths of shortest paths, (B, D, D) -> (B, D, D) long, -1 where there is none."""
    length = adjacency.shape[-1]
    distances = torch.full(adjacency.shape, -1, dtype=torch.long, device=adjacency.device)
    distances.diagonal(dim1=1, dim2=2).zero_()
    reached = torch.eye(length, device=adjacency.device).expand_as(adjacency).clone()
    for step in range(1, length):
        grown = ((reached @ adjacency + reached) > 0).to(reached.dtype)
        fresh = (grown > reached) & (distances < 0)
        if not fresh.any():
            break
        distances[fresh] = step
        reached = grown
    return distances


class GraphLaw(Target, ABC):
    """One law a graph. A subclass writes ``score`` (the solution's size) and the two densities.

    Args:
        graphs: one graph per state, or a single one for all.
        beta: inverse temperature, a number or one a graph (B,).

    Raises:
        UserError: a number beta is not finite.
    """

    def __init__(self, graphs: Graphs, beta: float | Tensor = 5.0) -> None:
        super().__init__(graphs.adjacency.shape[-1], 2)
        # A tensor is not looked into: that would wait for the device in every step of a loop.
        if not isinstance(beta, Tensor) and not math.isfinite(beta):
            raise UserError(f"the inverse temperature beta must be finite, not {beta}")
        beta = torch.as_tensor(beta).to(graphs.adjacency)
        self.graphs = graphs
        self.beta = beta.expand(len(graphs))

    @property
    def mask(self) -> Tensor:
        return self.graphs.mask

    def __len__(self) -> int:
        return len(self.graphs)

    @cached_property
    def table_evaluations(self) -> float:
        """Energy evaluations of a table of neighbour ratios: 1 + the mean number of real nodes.

        Looked up once: the number comes from the device.
        """
        return 1 + float(self.graphs.sizes.double().mean())

    def rows(self, index: Tensor) -> "GraphLaw":
        """The laws at ``index``, repeats allowed."""
        return self._like(self.graphs.rows(index), self.beta[index])

    def to(self, device: torch.device | str) -> "GraphLaw":
        return self._like(self.graphs.to(device), self.beta.to(device))

    def at(self, beta: float) -> "GraphLaw":
        """The same graphs at another inverse temperature."""
        return self._like(self.graphs, beta)

    def joined(self, others: Sequence["GraphLaw"]) -> "GraphLaw":
        """This one's laws, then those of ``others``."""
        laws = [self, *others]
        return self._like(
            joined([law.graphs for law in laws]), torch.cat([law.beta for law in laws])
        )

    def plain(self) -> dict[str, Tensor]:
        """Tensors that :meth:`restored` takes."""
        return {**vars(self.graphs), "beta": self.beta}

    def restored(self, plain: dict[str, Tensor]) -> "GraphLaw":
        """Laws of this kind from :meth:`plain`."""
        graphs = Graphs(plain["adjacency"], plain["sizes"], plain["distances"])
        return self._like(graphs, plain["beta"])

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        flip = self.flip_log_ratios(x).unsqueeze(-1)
        symbol = torch.arange(2, device=x.device)
        return flip * ((symbol != x.unsqueeze(-1)) & self.mask.unsqueeze(-1))

    @abstractmethod
    def flip_log_ratios(self, x: Tensor) -> Tensor:
        """log nu(x with bit i flipped) - log nu(x), (B, D); of padded nodes anything."""

    @abstractmethod
    def decoded(self, x: Tensor) -> Tensor:
        """A feasible solution (B, D) made of a state."""

    @abstractmethod
    def score(self, x: Tensor) -> Tensor:
        """Size (B,) of a feasible solution."""

    def conflicts(self, x: Tensor) -> Tensor:
        """Number (B,) of edges that make a state infeasible; 0 where every state is a solution."""
        return torch.zeros(len(x), device=x.device)

    def _like(self, graphs: Graphs, beta: float | Tensor) -> "GraphLaw":
        return type(self)(graphs, beta)

    def _neighbors(self, values: Tensor) -> Tensor:
        """A v, (B, D)."""
        return torch.matmul(self.graphs.adjacency, values.unsqueeze(-1)).squeeze(-1)


class IndependentSets(GraphLaw):
    """log nu(x) = beta ( sum x - penalty x^T A x / 2 ) (DNFS, appendix D.4).

    At a penalty just above 1 a conflict costs what the node gains, so decoding matters: about half
    of exact samples are no independent sets.

    Args:
        penalty: per conflicting edge, at least 1.
    """

    def __init__(self, graphs: Graphs, beta: float | Tensor = 5.0, penalty: float = 1.0001) -> None:
        super().__init__(graphs, beta)
        if penalty < 1:
            raise UserError(
                f"with a penalty of {penalty} below 1 a conflict would pay: use at least 1"
            )
        self.penalty = penalty

    def log_prob(self, x: Tensor) -> Tensor:
        bits = x.to(self.graphs.adjacency.dtype)
        return self.beta * (bits * (1 - self.penalty / 2 * self._neighbors(bits))).sum(-1)

    def flip_log_ratios(self, x: Tensor) -> Tensor:
        bits = x.to(self.graphs.adjacency.dtype)
        gain = 1 - self.penalty * self._neighbors(bits)
        return self.beta[:, None] * (1 - 2 * bits) * gain

    def decoded(self, x: Tensor) -> Tensor:
        """In node order, every chosen node removes its neighbours."""
        chosen = x.bool() & self.mask
        adjacency = self.graphs.adjacency.bool().expand(len(x), -1, -1)
        for node in range(x.shape[-1]):
            chosen = chosen & ~(adjacency[:, node] & chosen[:, node, None])
        return chosen.to(x.dtype)

    def score(self, x: Tensor) -> Tensor:
        return x.sum(-1)

    def conflicts(self, x: Tensor) -> Tensor:
        """Number (B,) of edges between chosen nodes."""
        bits = x.to(self.graphs.adjacency.dtype)
        return (bits * self._neighbors(bits)).sum(-1) / 2

    def _like(self, graphs: Graphs, beta: float | Tensor) -> "IndependentSets":
        return IndependentSets(graphs, beta, self.penalty)


class Cuts(GraphLaw):
    """log nu(x) = -beta s^T A s / 4, s = 2 x - 1 at real nodes (DNFS, appendix D.4).

    That is beta times (the cut, less half the edges).
    """

    def _spins(self, x: Tensor) -> Tensor:
        return (2 * x.to(self.graphs.adjacency.dtype) - 1) * self.mask

    def log_prob(self, x: Tensor) -> Tensor:
        spins = self._spins(x)
        return -self.beta / 4 * (spins * self._neighbors(spins)).sum(-1)

    def flip_log_ratios(self, x: Tensor) -> Tensor:
        spins = self._spins(x)
        return self.beta[:, None] * spins * self._neighbors(spins)

    def decoded(self, x: Tensor) -> Tensor:
        return x

    def score(self, x: Tensor) -> Tensor:
        """Edges between both sides (B,)."""
        spins = self._spins(x)
        return self.graphs.edges / 2 - (spins * self._neighbors(spins)).sum(-1) / 4
