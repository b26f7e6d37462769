"""Energy models trained without a sampler of their own: discrepancies, ratios, Markov chains."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.methods.dnfs.energy_judging import EnergyMethod
from jumpbench.methods.dnfs.energy_losses import Objective, PersistentChains
from jumpbench.methods.dnfs.module import adamw
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws
from jumpbench.targets.energy_network import EnergyNetwork


class EnergyModel(EnergyMethod):
    """One objective, one optimiser; samples are chains on the trained energy.

    Args:
        objective: of :mod:`jumpbench.methods.dnfs.energy_losses`.
        optimizer: partial that takes the parameters.
        kwargs: of :class:`EnergyMethod`, among them ``energy`` and ``length``.
    """

    def __init__(
        self,
        objective: Objective,
        optimizer: Callable[..., torch.optim.Optimizer] = adamw,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.objective, self.optimizer = objective, optimizer
        self._chains = getattr(objective, "chains", None)  # of persistent ones, over all processes

    def on_fit_start(self) -> None:
        super().on_fit_start()
        if self._chains is not None:
            cast(PersistentChains, self.objective).chains = self.share(
                self._chains, "objective.chains"
            )

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.optimizer(self.energy.parameters())

    def training_step(self, batch: Tensor, batch_index: int) -> Tensor:
        loss = self.objective(self.energy, batch, self.generator("objective"))
        penalty = getattr(self.energy, "penalty", None)
        if penalty is not None:
            loss = loss + penalty()
        self.log("train/loss", loss)
        return loss

    @torch.no_grad()
    def draw(self, batch: Tensor, generator: torch.Generator) -> dict[str, Draws]:
        likelihood = self.likelihood(batch, generator)
        drawn = self.chains(batch, generator) if self.kernel else Draws(batch, None, Cost())
        return {"chains": Draws(drawn.samples, None, drawn.cost, likelihood)}

    def own_state(self) -> dict[str, Any]:
        return super().own_state() | {"chains": getattr(self.objective, "states", None)}

    def restore_own(self, state: dict[str, Any]) -> None:
        super().restore_own(state)
        if state["chains"] is not None:
            cast(PersistentChains, self.objective).states = state["chains"].to(self.device)


def trained_energy(
    folder: str,
    energy: Callable[..., nn.Module],
    length: int,
    n_states: int = 2,
    kind: type[EnergyNetwork] = EnergyNetwork,
) -> EnergyNetwork:
    """The law of the energy that a finished run of this package trained; its weights are fixed.

    ``kind`` may be :class:`~jumpbench.targets.energy_network.TaylorRatios` (Figure 9).

    Raises:
        UserError: the run has no checkpoint, or another energy.
    """
    module = energy(length=length, n_states=n_states)
    return kind(load_weights(module, folder, "energy").requires_grad_(False))
