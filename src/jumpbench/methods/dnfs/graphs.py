"""DNFS for combinatorial optimisation: one network for the laws of many graphs (section 5.3)."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.data.graphs import Pool
from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.module import adamw
from jumpbench.methods.dnfs.paths import sample, time_grid
from jumpbench.methods.dnfs.training import FlowTraining
from jumpbench.networks.legf import LeGF
from jumpbench.samplers.annealed_jumps import Moves
from jumpbench.samplers.draws import Draws, timed
from jumpbench.targets.graphs import GraphLaw, Graphs

Problem = Callable[..., GraphLaw]
"""Takes graphs and an inverse temperature, such as a partial of ``IndependentSets``."""


class LawsOfGraphs(Method):
    """A method that learns the laws exp(beta * objective) of many graphs, a few of them at a time.

    Inverse temperatures grow linearly over the first steps of training. Networks are not told.

    Args:
        problem: graphs and beta to a law.
        graphs_per_rollout: training graphs at a time, at least 2.
        beta_start: first inverse temperature.
        beta: last inverse temperature.
        warm_up: steps between the two.
        chains_per_graph: samples of each test graph.
        kwargs: ``seed`` and ``evaluation``.
    """

    def __init__(
        self,
        problem: Problem,
        graphs_per_rollout: int = 16,
        beta_start: float = 0.1,
        beta: float = 5.0,
        warm_up: int = 80_000,
        chains_per_graph: int = 20,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if graphs_per_rollout < 2:
            raise UserError(f"graphs_per_rollout must be at least 2, not {graphs_per_rollout}")
        if chains_per_graph < 1:
            raise UserError(f"chains_per_graph must be at least 1, not {chains_per_graph}")
        self.problem, self.graphs_per_rollout = problem, graphs_per_rollout
        self.beta_start, self.beta, self.warm_up = beta_start, beta, warm_up
        self.chains_per_graph = chains_per_graph

    def beta_at(self, step: int) -> float:
        part = min(1.0, step / max(self.warm_up, 1))
        return self.beta_start + part * (self.beta - self.beta_start)

    def laws(self, batch: Pool) -> GraphLaw:
        """Of some graphs of the pool, at the inverse temperature of the current step."""
        graphs = batch.draw(self.graphs_per_rollout, self.generator("graphs"))
        if len(graphs) < self.graphs_per_rollout:
            raise UserError(
                f"there are {len(graphs)} training graphs, fewer than graphs_per_rollout="
                f"{self.graphs_per_rollout}"
            )
        return self.problem(graphs, self.beta_at(self.global_step))


class GraphDNFS(LawsOfGraphs, FlowTraining):
    """A flow sampler of the laws exp(beta * objective) of graphs.

    A roll-out's graphs have an equal share of the chains and a d/dt log Z_t each; stored entries
    keep the graphs, beta and the estimate that they were made with. Beta is constant within a
    roll-out.

    A test batch of graphs gives ``chains_per_graph`` decoded solutions a graph, graph by graph.

    Args:
        problem: graphs and beta to a law.
        length: padded number of nodes, that of the data.
        network: builds, from ``length`` and ``n_states``, a network of states, times and graphs.
        optimizer: partial that takes the parameters.
        n_steps: see :class:`Learner`.
        chains: likewise; the graphs of a roll-out divide it.
        stored: see :class:`Learner`.
        batch_size: likewise.
        clamp: likewise.
        refresh_every: optimiser steps between roll-outs.
        moves: by name, MCMC moves after every Euler step of the test stage, or None; each is a way
            of drawing.
        kwargs: of :class:`LawsOfGraphs`.
    """

    def __init__(
        self,
        problem: Problem,
        length: int,
        network: Callable[..., nn.Module] = LeGF,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = adamw,
        n_steps: int = 64,
        chains: int = 256,
        stored: int = 4,
        batch_size: int = 256,
        clamp: float | None = 5.0,
        refresh_every: int = 100,
        moves: Mapping[str, Moves | None] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(problem=problem, **kwargs)
        if chains % self.graphs_per_rollout:
            raise UserError(
                f"graphs_per_rollout={self.graphs_per_rollout} must divide chains={chains}"
            )
        self.optimizer = optimizer
        self.network = self.build(network, "network", length=length, n_states=2)
        self.use(Learner(self.network, n_steps, chains, stored, batch_size, clamp), refresh_every)
        self.moves = dict(moves or {"flow": None})

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.optimizer(self.parameters())

    def kind(self) -> GraphLaw:
        # Graphs are replaced by the stored ones; what counts are the problem's own settings.
        edge = Graphs(torch.zeros(1, 2, 2), torch.tensor([2]), torch.zeros(1, 2, 2).long())
        return self.problem(edge)

    @torch.no_grad()
    def draw(self, batch: Graphs, generator: torch.Generator) -> dict[str, Draws]:
        laws = chains_of(self.problem, batch, self.beta, self.chains_per_graph)
        times = time_grid(self.learner.n_steps, self.device)

        def trajectories(step: Moves | None) -> Draws:
            x, cost = sample(self.network, laws, times, len(laws), generator, step)
            return solutions(laws, x, cost)

        return {name: timed(partial(trajectories, step)) for name, step in self.moves.items()}


def chains_of(problem: Problem, graphs: Graphs, beta: float, chains: int) -> GraphLaw:
    """Laws of ``chains`` chains a graph, graph by graph."""
    index = torch.arange(len(graphs), device=graphs.sizes.device).repeat_interleave(chains)
    return problem(graphs, beta).rows(index)


def solutions(laws: GraphLaw, x: Tensor, cost: Any) -> Draws:
    """Decoded states with their sizes, and what the states ``x`` themselves were.

    Extras: ``size`` of what was decoded; ``feasible``, whether decoding changed nothing;
    ``conflicts`` of ``x`` (:meth:`GraphLaw.conflicts`) and its ``objective``, log rho / beta. The
    size is not monotone in how well ``x`` is drawn: decoding only removes nodes, so too many
    nodes decode to larger sets than few of them in conflict.
    """
    decoded = laws.decoded(x)
    extras = {
        "size": laws.score(decoded).double(),
        "feasible": (decoded == x).all(-1),
        "conflicts": laws.conflicts(x).double(),
        "objective": (laws.log_prob(x) / laws.beta).double(),
    }
    return Draws(decoded, None, cost, extras)
