"""Models and samples of bit strings that code points of the plane."""

import math
from typing import Any

import torch
from torch import Tensor

from jumpbench.data.densities import code_of, entropy_floor
from jumpbench.evaluations.base import Evaluation
from jumpbench.metrics.hamming_mmd import hamming_mmd, mmd_noise
from jumpbench.samplers.draws import Draws

_MMD_UNIT = 1e4
PATHS = 1000
"""Trajectories among the artifacts, at most."""


class DensityEvaluation(Evaluation):
    """Judges samples against fresh data, and likelihoods against the entropy.

    Results: ``mmd``, mean over test batches of the squared MMD in units of 1e-4, ``mmd_error``, its
    standard error over them (one batch: that of perfect samples), and ``mmd_floor``, which perfect
    samples' absolute value has on average. With energies among the extras: ``nll`` = mean energy of
    the data + log Z, ``log_z_ess`` of the estimate of Z; with ``elbo``: ``elbo_nll``, the bound of
    the sampler's own likelihood. Beside them ``nll_floor``, the entropy of the bits, and
    ``nll_uniform``. The extra ``trajectories`` (B, W, T, D) becomes the artifact ``path_points``.

    Args:
        name: of the density.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.reset()

    def keep(self, batch: Tensor) -> dict[str, Tensor]:
        return {"data": batch.to(torch.uint8)}

    def reset(self) -> None:
        self._mmd: list[float] = []
        self._extras: list[dict[str, Tensor]] = []
        self._points: list[Tensor] = []
        self._paths: Tensor | None = None
        self._noise = 0.0

    def update(self, draws: Draws, reference: dict[str, Tensor]) -> None:
        self._mmd.append(_MMD_UNIT * hamming_mmd(draws.samples, reference["data"]))
        self._extras.append({k: v for k, v in draws.extras.items() if k != "trajectories"})
        if not self._points:
            size = min(len(draws), len(reference["data"]))
            self._noise = _MMD_UNIT * mmd_noise(reference["data"], size)
            code = code_of(self.name)
            self._points = [
                code.decode(part).float() for part in (draws.samples, reference["data"])
            ]
            if "trajectories" in draws.extras:
                states = draws.extras["trajectories"][:PATHS]
                self._paths = (
                    code.decode(states.flatten(0, 2)).float().unflatten(0, states.shape[:3])
                )

    def results(self) -> dict[str, float]:
        mmd = torch.tensor(self._mmd, dtype=torch.float64)
        error = float(mmd.std()) / len(mmd) ** 0.5 if len(mmd) > 1 else self._noise
        values = {
            "mmd": float(mmd.mean()),
            "mmd_error": error,
            "mmd_floor": self._noise * math.sqrt(2 / (math.pi * len(mmd))),
            "nll_floor": entropy_floor(self.name),
            "nll_uniform": self._points[0].shape[-1] * code_of(self.name).bits * math.log(2),
        }
        extras = {
            name: torch.cat([part[name] for part in self._extras]).double()
            for name in self._extras[0]
        }
        if "data_energy" in extras:
            values["nll"] = float((extras["data_energy"] + extras["model_log_z"]).mean())
            values["log_z_ess"] = float(extras["model_log_z_ess"].mean())
        if "elbo" in extras:
            values["elbo_nll"] = -float(extras["elbo"].mean())
        return values

    def artifacts(self) -> dict[str, Any]:
        points = {"points": self._points[0], "data_points": self._points[1]}
        return points if self._paths is None else points | {"path_points": self._paths}
