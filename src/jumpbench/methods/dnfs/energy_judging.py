"""What every trained energy model is judged by: its likelihood, and chains of its own law."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from jumpbench.methods.common.base import Method
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.weights import effective_sample_size, log_mean_exp
from jumpbench.targets.base import check_bytes
from jumpbench.targets.energy_network import EnergyNetwork

_CHUNK = 2**14


def uniform_log_z(law: EnergyNetwork, n: int, generator: torch.Generator) -> tuple[float, float]:
    """log Z from ``n`` uniform states, log mean exp(-E) + D log N, and the estimate's ESS.

    Z is unbiased and log Z low on average: a likelihood made of it can fall below the entropy.
    """
    parts = []
    for start in range(0, n, _CHUNK):
        shape = (min(_CHUNK, n - start), law.length)
        x = torch.randint(law.n_states, shape, generator=generator, device=generator.device)
        parts.append(law.log_prob(x).double())
    weights = torch.cat(parts)
    log_z = float(log_mean_exp(weights)) + law.length * math.log(law.n_states)
    return log_z, float(effective_sample_size(weights))


class EnergyMethod(Method):
    """A method that trains ``energy``; its draws carry what a likelihood needs.

    Args:
        energy: builds, from ``length`` and ``n_states``, the energy module.
        length: D of the states.
        n_states: N of the states.
        z_samples: uniform states behind log Z.
        kernel: of chains on the trained energy as a way of drawing, "chains", half of them started
            at data; without a kernel there is no such way.
        kernel_steps: length of these chains.
        model_probes: numbers of the trained energy, such as the error of its couplings.
        kwargs: ``seed`` and ``evaluation``.

    Raises:
        UserError: more than 256 symbols.
    """

    def __init__(
        self,
        energy: Callable[..., nn.Module],
        length: int,
        n_states: int = 2,
        z_samples: int = 1_000_000,
        kernel: Kernel | None = None,
        kernel_steps: int = 50,
        model_probes: Sequence[Callable[[nn.Module], dict[str, float]]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_bytes(n_states)
        self.length, self.n_states, self.z_samples = length, n_states, z_samples
        self.kernel, self.kernel_steps = kernel, kernel_steps
        self.model_probes = list(model_probes)
        self._untrained = partial(self.build, energy, "energy", length=length, n_states=n_states)
        self.energy = self._untrained()

    @property
    def law(self) -> EnergyNetwork:
        return EnergyNetwork(self.energy)

    def likelihood(self, data: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
        """Extras (B,): energies of the data, log Z, and the ESS of its estimate."""
        log_z, ess = uniform_log_z(self.law, self.z_samples, generator)
        energies = -self.law.log_prob(data).double()
        return {
            "data_energy": energies,
            "model_log_z": torch.full_like(energies, log_z),
            "model_log_z_ess": torch.full_like(energies, ess),
        }

    def chains(self, data: Tensor, generator: torch.Generator) -> Draws:
        """As many chains as data, after ``kernel_steps`` steps."""
        start = torch.randint(
            self.n_states, data.shape, generator=generator, device=generator.device
        )
        start[: len(data) // 2] = data[: len(data) // 2]
        assert self.kernel is not None
        x, info = self.kernel(self.law, start, self.kernel_steps, generator)
        return Draws(x, None, info.cost)

    def further_results(self) -> dict[str, float]:
        values = super().further_results()
        for probe in self.model_probes:
            values |= probe(self.energy)
        return values

    def further_artifacts(self) -> dict[str, Any]:
        """Of a model of couplings, (D, D) each: ``couplings``, initially ``first_couplings``."""
        artifacts = super().further_artifacts()
        if hasattr(self.energy, "couplings"):
            artifacts["couplings"] = cast(Tensor, self.energy.couplings).detach().cpu()
            artifacts["first_couplings"] = cast(Tensor, self._untrained().couplings).detach()
        return artifacts
