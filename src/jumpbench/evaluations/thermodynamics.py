"""Free energy, energy and entropy per site from weighted samples of an Ising torus."""

import math
from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.weights import SYSTEM, numbered_on, of_weights
from jumpbench.samplers.draws import Draws
from jumpbench.targets.ising import Ising
from jumpbench.targets.transfer_matrix import torus_with_field


class ThermodynamicsEvaluation(Evaluation):
    """Means over test batches, and their standard deviations as ``NAME_std``.

    Per batch, with beta the target's and D sites: ``free_energy`` = -mean(w) / (beta D), an upper
    bound on average since E[w] <= log Z; ``internal_energy`` = -(weighted mean of log rho) / (beta
    D); ``entropy`` = beta (internal - free energy); ``ess``; ``log_z`` = log mean exp w with
    ``log_z_error``; the same of left-end weights with the prefix ``left_``; ``log_rmse``, natural
    logarithm of the root-mean-square error over sites of the unweighted mean spin, beside
    ``log_rmse_floor``, that of perfect samples; ``mean_energy``, the mean of -log rho / (beta D)
    without weights.

    Exact values by transfer matrix, with the prefix ``exact_``; ``log_z_deviation``, and
    ``mean_energy_deviation`` from the exact internal energy, and its mean for as many perfect
    samples, ``mean_energy_deviation_floor``.

    Args:
        target: at most 10 x 10.

    Raises:
        UserError: another target than an Ising torus.
    """

    def __init__(self, target: Ising) -> None:
        if not isinstance(target, Ising):
            raise UserError(
                f"free energy, energy and entropy are those of an Ising torus, not of "
                f"{type(target).__name__}; take evaluation=dnfs/normaliser"
            )
        self.target = target
        self.reset()

    def reset(self) -> None:
        self._batches: list[dict[str, float]] = []
        self._weights: dict[str, list[Tensor]] = {}
        self._systems: list[Tensor] = []
        self._energies: list[Tensor] = []

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        exact = self._exact
        log_prob = self.target.log_prob(draws.samples).double()
        spins = 2 * draws.samples.double() - 1
        rmse = (spins.mean(0) - exact.mean_spin).square().mean().sqrt()
        floor = math.sqrt((1 - exact.mean_spin**2) / len(spins))
        values = {"log_rmse": float(rmse.log()), "log_rmse_floor": math.log(floor)}
        scale = self.target.beta * self.target.length
        values["mean_energy"] = -float(log_prob.mean()) / scale
        left = draws.extras.get("left_log_weights")
        for prefix, weights in (("", draws.log_weights), ("left_", left)):
            if weights is not None:
                system = None if prefix else draws.extras.get(SYSTEM)
                estimates = self._of(weights.double(), log_prob, system)
                values |= {f"{prefix}{name}": value for name, value in estimates.items()}
                self._weights.setdefault(prefix, []).append(weights.double())
                if system is not None:
                    self._systems.append(system)
        self._batches.append(values)
        self._energies.append(log_prob)

    @property
    def _exact(self) -> Any:
        if not hasattr(self, "_torus"):
            self._torus = torus_with_field(self.target)
        return self._torus

    def _per_site(self, log_z: float, log_prob: float) -> dict[str, float]:
        scale = self.target.beta * self.target.length
        free, internal = -log_z / scale, -log_prob / scale
        entropy = self.target.beta * (internal - free)
        return {"free_energy": free, "internal_energy": internal, "entropy": entropy}

    def _of(self, weights: Tensor, log_prob: Tensor, system: Tensor | None) -> dict[str, float]:
        mean = float((weights.softmax(0) * log_prob).sum())
        return self._per_site(float(weights.mean()), mean) | of_weights(weights, system)

    def results(self) -> dict[str, float]:
        values: dict[str, float] = {}
        for name in self._batches[0]:
            column = torch.tensor([batch[name] for batch in self._batches], dtype=torch.float64)
            values[name] = float(column.mean())
            if len(column) > 1:
                values[f"{name}_std"] = float(column.std())
        exact = self._per_site(self._exact.log_z, self._exact.mean_log_prob)
        exact |= {"log_z": self._exact.log_z, "ess": 1.0, "mean_spin": self._exact.mean_spin}
        values |= {f"exact_{name}": value for name, value in exact.items()}
        for prefix, weights in self._weights.items():
            system = numbered_on(self._systems) if self._systems and not prefix else None
            joined = of_weights(torch.cat(weights), system)
            values |= {f"{prefix}{name}": joined[name] for name in ("log_z", "log_z_error")}
            values[f"{prefix}log_z_deviation"] = abs(joined["log_z"] - self._exact.log_z)
        away = abs(values["mean_energy"] - values["exact_internal_energy"])
        values["mean_energy_deviation"] = away
        spread = self._exact.std_log_prob / (self.target.beta * self.target.length)
        drawn = sum(map(len, self._energies))
        values["mean_energy_deviation_floor"] = spread * math.sqrt(2 / (math.pi * drawn))
        for name in ("free_energy", "internal_energy", "entropy"):
            if name in values:
                values[f"{name}_deviation"] = abs(values[name] - values[f"exact_{name}"])
        return values

    def artifacts(self) -> dict[str, Any]:
        return {"log_prob": torch.cat(self._energies)}
