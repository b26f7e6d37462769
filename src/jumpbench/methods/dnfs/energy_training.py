"""An energy model and its flow sampler, trained together (EB-DNFS, section 5.2)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.dnfs.energy_judging import EnergyMethod
from jumpbench.methods.dnfs.energy_losses import contrastive
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.module import adamw
from jumpbench.methods.dnfs.paths import evidence_lower_bound, simulate_flow, time_grid
from jumpbench.methods.dnfs.training import FlowTraining
from jumpbench.methods.dnfs.trajectories import trajectories
from jumpbench.networks.interface import check_flux
from jumpbench.networks.letf import LeTF
from jumpbench.samplers.draws import Draws
from jumpbench.targets.energy_network import EnergyNetwork

Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class EnergyDNFS(FlowTraining, EnergyMethod):
    """Contrastive training of an energy with importance-weighted samples of its flow sampler.

    A training batch of data is one round: one roll-out on the current energy gives states for the
    store, the estimate of d/dt log Z_t and weighted samples; then ``flow_steps`` optimiser steps of
    the flow; then one of the energy on these samples and the data. Stored states stay usable when
    the energy changes: its values at them are computed anew. A round counts ``flow_steps`` + 1
    steps of the trainer.

    A test batch of data gives as many flow samples ("flow"), with the energies and the evidence
    lower bound of the data beside them, and chains on the energy ("chains") if there is a kernel.

    Args:
        energy: builds the energy; if it has a ``penalty()``, that is added to its loss.
        network: builds the flow's network.
        optimizer: partial that takes the flow's parameters.
        energy_optimizer: partial that takes the energy's parameters.
        n_steps: see :class:`Learner`.
        chains: likewise.
        stored: likewise.
        batch_size: likewise.
        clamp: likewise.
        flow_steps: optimiser steps of the flow a round.
        elbo_paths: reverse trajectories behind each evidence lower bound; 0 leaves it out.
        shown_times: at which states of the path are kept with the samples of "flow", as the extra
            ``trajectories`` (:func:`~jumpbench.methods.dnfs.trajectories.trajectories`).
        kwargs: of :class:`EnergyMethod`.
    """

    unused_parameters = True  # a backward pass is of the flow or of the energy

    def __init__(
        self,
        energy: Callable[..., nn.Module],
        length: int,
        network: Callable[..., nn.Module] = LeTF,
        optimizer: Optimizer = adamw,
        energy_optimizer: Optimizer = adamw,
        n_steps: int = 64,
        chains: int = 128,
        stored: int = 4,
        batch_size: int = 128,
        clamp: float | None = 5.0,
        flow_steps: int = 10,
        elbo_paths: int = 1,
        shown_times: Sequence[float] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(energy=energy, length=length, **kwargs)
        self.automatic_optimization = False
        sizes = {"length": length, "n_states": self.n_states}
        self.network = self.build(network, "network", **sizes)
        if flow_steps < 1:
            raise UserError(f"flow_steps must be at least 1, not {flow_steps}")
        self.use(Learner(self.network, n_steps, chains, stored, batch_size, clamp), flow_steps)
        self.optimizer, self.energy_optimizer = optimizer, energy_optimizer
        self.steps_per_batch = flow_steps + 1
        self.elbo_paths, self.shown_times = elbo_paths, tuple(shown_times)
        if self.shown_times and self.kernel is None:
            raise UserError("shown_times needs a kernel, whose chains are shown beside the flow")

    def configure_optimizers(self) -> tuple[torch.optim.Optimizer, ...]:
        return (
            self.optimizer(self.network.parameters()),
            self.energy_optimizer(self.energy.parameters()),
        )

    def on_fit_start(self) -> None:
        super().on_fit_start()
        fixed = torch.Generator().manual_seed(0)
        states = torch.randint(self.n_states, (8, self.length), generator=fixed)
        check_flux(self.network, states.to(self.device), self.n_states)

    def laws(self, batch: Any) -> EnergyNetwork:
        return self.law

    def kind(self) -> EnergyNetwork:
        return self.law

    def training_step(self, batch: Tensor, batch_index: int) -> None:
        flow, model = cast(list, self.optimizers())
        paths = self.learner.refresh(self.law, self.generator("paths"), self._mean)
        self._record(paths)
        for _ in range(self.refresh_every):
            loss = self.learner.loss(self.generator("pairs"))
            flow.zero_grad()
            self.manual_backward(loss)
            flow.step()
            self._losses.append(loss.detach())
        # The energy has not changed since the roll-out, so its weights are valid.
        loss = contrastive(self.energy, batch, paths.end, paths.log_weights)
        penalty = getattr(self.energy, "penalty", None)
        if penalty is not None:
            loss = loss + penalty()
        model.zero_grad()
        self.manual_backward(loss)
        model.step()
        self.log("train/energy_loss", loss.detach())

    @torch.no_grad()
    def draw(self, batch: Tensor, generator: torch.Generator) -> dict[str, Draws]:
        times = time_grid(self.learner.n_steps, self.device)
        paths = simulate_flow(self.network, self.law, times, len(batch), generator)
        extras = self.likelihood(batch, generator)
        if self.elbo_paths:
            extras["elbo"] = evidence_lower_bound(
                self.network, self.law, times, batch, generator, self.elbo_paths
            )
        if self.shown_times and self.kernel is not None:
            extras["trajectories"] = trajectories(
                self.network, self.law, times, batch, self.kernel, self.kernel_steps,
                self.shown_times, generator,
            )  # fmt: skip
        ways = {"flow": Draws(paths.end, paths.log_weights, paths.cost, extras)}
        if self.kernel is not None:
            ways["chains"] = self.chains(batch, generator)
        return ways
