"""Sizes of solutions on graphs, against the optimum of the same graphs."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts
from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.draws import Draws
from jumpbench.targets.graphs import Graphs


class GraphEvaluation(Evaluation):
    """Judges solutions with a ``size`` among their extras, several a graph, graph by graph.

    Results: ``size``, the mean over graphs of each graph's first solution; ``size_mean``, of all
    its solutions; ``size_best``, of its best one; ``size_error``, standard error of ``size`` over
    graphs; ``feasible``, the share of states that needed no repair; of the states before repair,
    where they are among the extras, the mean ``conflicts`` and the mean ``objective`` log rho /
    beta. With the optimum also
    ``optimum``, the relative drops in percent, ``drop``, ``drop_mean`` and ``drop_best``, and
    ``ratio_error``, the paired standard error of ``drop``.

    Absolute sizes of 100 graphs vary by 1 % between draws of the graphs: compare drops.

    Args:
        optimum: folder of a run on the same graphs whose artifacts hold ``best_sizes``.
    """

    def __init__(self, optimum: str | None = None) -> None:
        self.optimum = optimum
        self.reset()

    def keep(self, batch: Graphs) -> dict[str, Tensor]:
        return {"nodes": batch.sizes, "edges": batch.edges}

    def reset(self) -> None:
        self._sizes: list[Tensor] = []
        self._states: dict[str, list[Tensor]] = {}
        self._nodes: list[Tensor] = []
        self._edges: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        graphs = len(reference["nodes"])
        self._sizes.append(draws.extras["size"].double().view(graphs, -1))
        for name in ("feasible", "conflicts", "objective"):
            if name in draws.extras:
                self._states.setdefault(name, []).append(draws.extras[name].double())
        self._nodes.append(reference["nodes"])
        self._edges.append(reference["edges"])

    def results(self) -> dict[str, float]:
        sizes = torch.cat(self._sizes)
        by_name = {
            "size": sizes[:, 0], "size_mean": sizes.mean(1), "size_best": sizes.amax(1),
        }  # fmt: skip
        values = {name: float(value.mean()) for name, value in by_name.items()}
        values["size_error"] = _standard_error(sizes[:, 0])
        values |= {name: float(torch.cat(v).mean()) for name, v in self._states.items()}
        values["n_graphs"] = float(len(sizes))
        if self.optimum is not None:
            best = self._best()
            values["optimum"] = float(best.mean())
            for name, value in by_name.items():
                drop = 100 * (1 - value.mean() / best.mean())
                values[name.replace("size", "drop")] = float(drop)
            rest = sizes[:, 0] - sizes[:, 0].mean() / best.mean() * best  # of a ratio of means
            values["ratio_error"] = 100 * _standard_error(rest) / float(best.mean())
        return values

    def _best(self) -> Tensor:
        solved = load_artifacts(str(self.optimum))
        for name, parts in (("nodes", self._nodes), ("edges", self._edges)):
            if not torch.equal(solved[name], torch.cat(parts)):
                raise UserError(f"{self.optimum} solves other graphs: they differ in their {name}")
        return solved["best_sizes"]

    def artifacts(self) -> dict[str, Any]:
        sizes = torch.cat(self._sizes)
        return {
            "sizes": sizes,
            "best_sizes": sizes.amax(1),
            "nodes": torch.cat(self._nodes),
            "edges": torch.cat(self._edges),
        }


def _standard_error(values: Tensor) -> float:
    return float(values.std()) / len(values) ** 0.5 if len(values) > 1 else 0.0
