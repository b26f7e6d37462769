"""Samples of a law too large to enumerate, against those of a long run."""

from pathlib import Path

import torch
from torch import Tensor

from jumpbench.artifacts import load_artifacts
from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.energy_classes import EnergyClasses, floor
from jumpbench.evaluations.own_numbers import shares
from jumpbench.evaluations.weights import SYSTEM
from jumpbench.metrics.histogram import total_variation
from jumpbench.metrics.states import energies
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget


class ReferenceEvaluation(Evaluation):
    """Judges samples (B, D), reweighted where they have weights, against a reference run.

    Results:

    - ``energy_tv``: total variation between the energy's law and the reference's;
    - ``energy_tv_floor``: what as many exact draws would show on average against it: n and m
      effective draws differ as n m / (n + m) draws do from the law;
    - ``reference_error``: half of the distance between the halves of the reference, which is
      about its own distance from the law;
    - means of the extras.

    Args:
        target: the law, evaluated on the CPU.
        reference: folder of a run that
            :class:`~jumpbench.evaluations.own_numbers.OwnNumbersEvaluation` judged.
    """

    def __init__(self, target: DiscreteTarget, reference: str | Path) -> None:
        self.target, self.reference = target, reference
        self.reset()

    def reset(self) -> None:
        self._batches: list[Draws] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._batches.append(draws)

    @torch.no_grad()
    def results(self) -> dict[str, float]:
        truth = load_artifacts(self.reference)
        known, number = truth["energies"], truth["values"]
        draws = Draws.joined(self._batches)
        classes = EnergyClasses(known, torch.full_like(known, 1 / len(known)))
        found = classes.of(energies(self.target, draws.samples.long()), shares(draws))
        n, m = float(len(draws)), number["effective_samples"]
        values = {
            k: float(v.double().mean())
            for k, v in draws.extras.items()
            if v.dim() == 1 and k != SYSTEM
        }
        return values | {
            "energy_tv": float(total_variation(found, classes.law)),
            "energy_tv_floor": floor(classes.law, n * m / (n + m)),
            "reference_error": number["halves_tv"] / 2,
        }
