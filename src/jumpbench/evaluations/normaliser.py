"""What importance weights say: effective sample size and log Z with its error."""

import math

import torch
from torch import Tensor

from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.weights import SYSTEM, numbered_on, of_weights
from jumpbench.metrics.histogram import total_variation
from jumpbench.metrics.states import energy_laws
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import enumerate_law


class NormaliserEvaluation(Evaluation):
    """``ess``, ``log_z`` with ``log_z_error``, and ``mean_log_weight`` <= log Z on average.

    Draws with ``left_log_weights`` among their extras give the same numbers of those with the
    prefix ``left_``. Unweighted draws give nothing.

    Args:
        target: if given, small enough to enumerate (2^20 states): then also the exact value,
            ``exact_log_z``, ``log_z_deviation`` (absolute) and ``log_z_sigmas``, the deviation in
            standard errors; and the total variation ``energy_tv`` between the energies of the
            (unweighted) draws and the exact law, beside ``energy_tv_floor``, that of as many
            exact draws.
    """

    def __init__(self, target: DiscreteTarget | None = None) -> None:
        self.target = target
        self.reset()

    def reset(self) -> None:
        self._weights: dict[str, list[Tensor]] = {}
        self._systems: list[Tensor] = []
        self._energies: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        if draws.log_weights is not None:
            self._weights.setdefault("", []).append(draws.log_weights)
            if (system := draws.extras.get(SYSTEM)) is not None:
                self._systems.append(system)
        if (left := draws.extras.get("left_log_weights")) is not None:
            self._weights.setdefault("left_", []).append(left)
        if self.target is not None:
            self._energies.append(self.target.log_prob(draws.samples).double())

    def results(self) -> dict[str, float]:
        values: dict[str, float] = {}
        for prefix, parts in self._weights.items():
            weights = torch.cat(parts).double()
            system = numbered_on(self._systems) if self._systems and not prefix else None
            values |= {f"{prefix}{k}": v for k, v in of_weights(weights, system).items()}
            values[f"{prefix}mean_log_weight"] = float(weights.mean())
        return values | (self._exact(self.target, values) if self.target is not None else {})

    def _exact(self, target: DiscreteTarget, values: dict[str, float]) -> dict[str, float]:
        truth = enumerate_law(target)
        results = {"exact_log_z": truth.log_z}
        for prefix in self._weights:
            deviation = abs(values[f"{prefix}log_z"] - truth.log_z)
            results[f"{prefix}log_z_deviation"] = deviation
            results[f"{prefix}log_z_sigmas"] = deviation / max(
                values[f"{prefix}log_z_error"], 1e-12
            )
        energy = torch.cat([target.log_prob(s.long()) for s in truth.states.split(2**16)])
        drawn = torch.cat(self._energies)
        counts, exact = energy_laws(drawn, torch.ones_like(drawn), energy, truth.probs)
        results["energy_tv"] = float(total_variation(counts / len(drawn), exact))
        # E|Binomial(n, p) / n - p| is sqrt(2 p (1 - p) / (pi n)) for many draws.
        spread = (2 / math.pi * exact * (1 - exact) / len(drawn)).sqrt()
        results["energy_tv_floor"] = 0.5 * float(torch.minimum(spread, 2 * exact).sum())
        return results
