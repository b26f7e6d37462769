"""Graphs without a learnt sampler: exact solutions, and annealed Markov chains."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.base import Method
from jumpbench.methods.dnfs.graphs import Problem, chains_of, solutions
from jumpbench.methods.dnfs.paths import time_grid
from jumpbench.samplers.annealed_jumps import KernelMoves
from jumpbench.samplers.annealed_path import start_states
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws, timed
from jumpbench.targets.graphs import GraphLaw, Graphs


class ExactSolutions(Method):
    """One optimal solution a graph.

    Args:
        problem: graphs and beta to a law, as for the samplers; it scores the solutions.
        solve: laws on the CPU to optimal bits (B, D).
    """

    def __init__(
        self,
        problem: Problem,
        solve: Callable[[GraphLaw], Tensor],
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed, evaluation)
        self.problem, self.solve = problem, solve

    def draw(self, batch: Graphs, generator: torch.Generator) -> dict[str, Draws]:
        def solved() -> Draws:
            x = self.solve(self.problem(batch.to("cpu"))).to(self.device)
            return solutions(self.problem(batch), x, Cost())

        return {"solver": timed(solved)}


class AnnealedChains(Method):
    """Markov chains on the laws p_t at every grid time, from uniform bits; no network.

    Args:
        problem: graphs and beta to a law.
        moves: by name, the moves at every grid time t_1 .. t_K; each is a way of drawing. The state
            from which they start costs at the first time alone.
        n_steps: K.
        beta: inverse temperature at t = 1.
        chains_per_graph: chains, and solutions, a graph.
    """

    def __init__(
        self,
        problem: Problem,
        moves: Mapping[str, KernelMoves],
        n_steps: int = 64,
        beta: float = 5.0,
        chains_per_graph: int = 20,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed, evaluation)
        self.problem, self.moves, self.n_steps = problem, dict(moves), n_steps
        self.beta, self.chains_per_graph = beta, chains_per_graph

    @torch.no_grad()
    def draw(self, batch: Graphs, generator: torch.Generator) -> dict[str, Draws]:
        laws = chains_of(self.problem, batch, self.beta, self.chains_per_graph)

        def chains(step: KernelMoves) -> Draws:
            x = start_states(laws, len(laws), generator)
            known = step.start(laws, x)
            cost = known
            for t in time_grid(self.n_steps, self.device)[1:]:
                x, spent = step(laws, x, t, generator)
                cost += spent + known.scaled(-1)
            return solutions(laws, x, cost)

        return {name: timed(partial(chains, step)) for name, step in self.moves.items()}
