"""One way of drawing, judged batch by batch."""

import copy
from typing import Any

import torch

from jumpbench.evaluations.base import Evaluation
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws, narrow


class Judged:
    """Takes in draws in the order of their batches; gives metrics, mean cost, samples.

    Args:
        evaluation: copied, so that several ways of drawing can be judged side by side.
        keep_samples: whether samples and log-weights become artifacts.
    """

    def __init__(self, evaluation: Evaluation | None, keep_samples: bool) -> None:
        self._evaluation = copy.deepcopy(evaluation)
        if self._evaluation is not None:
            self._evaluation.reset()
        self._keep = keep_samples
        self._samples: list[torch.Tensor] = []
        self._log_weights: list[torch.Tensor] = []
        self._cost = Cost()
        self._count = 0

    def update(self, draws: Draws, reference: dict[str, torch.Tensor]) -> None:
        if self._evaluation is not None:
            self._evaluation.update(draws, reference)
        self._cost += draws.cost.scaled(len(draws))
        self._count += len(draws)
        if self._keep:
            self._samples.append(narrow(draws.samples))
            if draws.log_weights is not None:
                self._log_weights.append(draws.log_weights)

    def results(self) -> dict[str, float]:
        mean = self._cost.scaled(1 / max(self._count, 1))
        values = {
            "n_samples": float(self._count),
            "network_evaluations": mean.network_evaluations,
            "energy_evaluations": mean.energy_evaluations,
            "sequential_steps": mean.sequential_steps,
            "sample_seconds": mean.seconds / max(self._count, 1),
        }
        if self._evaluation is not None:
            values |= self._evaluation.results()
        return {name: float(value) for name, value in values.items()}

    def artifacts(self) -> dict[str, Any]:
        tensors: dict[str, Any] = {}
        if self._samples:
            tensors["samples"] = torch.cat(self._samples)
        if self._log_weights:
            tensors["log_weights"] = torch.cat(self._log_weights)
        return tensors | (self._evaluation.artifacts() if self._evaluation is not None else {})
