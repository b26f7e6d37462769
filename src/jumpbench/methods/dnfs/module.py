"""DNFS as a LightningModule: a thin shell around the learner, for one target."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.normaliser import NormaliserEvaluation
from jumpbench.methods.common.base import Builder
from jumpbench.methods.dnfs.estimates import Estimate, control_variate
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.paths import simulate_flow, time_grid
from jumpbench.methods.dnfs.training import FlowTraining
from jumpbench.methods.unnormalised.base import NetworkSampler, Optimizer
from jumpbench.networks.free_energy import FreeEnergy
from jumpbench.networks.interface import check_flux
from jumpbench.networks.letf import LeTF
from jumpbench.samplers.annealed_jumps import Moves
from jumpbench.samplers.annealed_path import check_positive
from jumpbench.samplers.draws import Draws
from jumpbench.targets.base import DiscreteTarget

Probe = Callable[[nn.Module, DiscreteTarget, Tensor], dict[str, float]]

adamw = partial(torch.optim.AdamW, lr=1e-3, weight_decay=1e-4)


class DNFS(FlowTraining, NetworkSampler):
    """Discrete Neural Flow Sampler (Ou et al. 2025) of one positive target.

    Every ``refresh_every`` steps the learner simulates; every step is one optimiser step on its
    loss. Samples are weighted; ``left_log_weights``, by the left ends of the trajectories, and
    ``target_log_prob`` are among the extras.

    Args:
        target: any :class:`~jumpbench.targets.base.Target`, or a module with its methods, whose
            parameters stay as they are.
        network: builds, from ``length`` and ``n_states``, a locally equivariant network.
        n_steps: see :class:`Learner`.
        chains: likewise.
        stored: likewise.
        batch_size: likewise.
        clamp: likewise.
        estimate: likewise.
        keep_slopes: likewise.
        free_energy: builds the network of LEAPS for d/dt log Z_t, learnt jointly.
        refresh_every: optimiser steps between roll-outs.
        n_steps_test: time steps in the test stage; by default those of training.
        moves: MCMC moves after every Euler step of the test stage.
        probes: numbers of the network, named ``NAME@STAGE``; stage k is the k-th step of
            ``probe_at``, counted from 0.
        compile: compile the network (``torch.compile``), anew for every shape of a batch.
        evaluation: by default effective sample size and log Z.
        kwargs: ``scheduler``, ``warm_start``, ``seed`` of
            :class:`NetworkSampler`.

    Raises:
        UserError: counts below one, a target that is not positive or finite.
    """

    flow: nn.Module

    def __init__(
        self,
        target: DiscreteTarget,
        network: Builder = LeTF,
        optimizer: Optimizer = adamw,
        n_steps: int = 64,
        chains: int = 256,
        stored: int = 4,
        batch_size: int = 128,
        clamp: float | None = 5.0,
        estimate: Estimate = control_variate,
        keep_slopes: bool = False,
        free_energy: Callable[..., FreeEnergy] | None = None,
        refresh_every: int = 100,
        n_steps_test: int | None = None,
        moves: Moves | None = None,
        probes: Sequence[Probe] = (),
        probe_at: Sequence[int] = (),
        compile: bool = False,
        evaluation: Evaluation | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            target=target, optimizer=optimizer, evaluation=evaluation or NormaliserEvaluation(),
            **kwargs,
        )  # fmt: skip
        self.network = self.build(network, "network", **self.sizes)
        self.free_energy = None if free_energy is None else self.build(free_energy, "free_energy")
        vars(self)["flow"] = self.network  # not a second submodule
        if compile:
            self.network.compile()
        learner = Learner(
            self.flow, n_steps, chains, stored, batch_size, clamp, estimate, self.free_energy,
            keep_slopes,
        )  # fmt: skip
        self.use(learner, refresh_every)
        self.n_steps_test = n_steps_test or n_steps
        self.moves = moves
        self.probes, self.probe_at = list(probes), list(probe_at)
        self.probed: dict[str, float] = {}

    def laws(self, batch: Any) -> DiscreteTarget:
        return self.target

    def kind(self) -> DiscreteTarget:
        return self.target

    def start_from(self, weights: dict[str, Tensor]) -> None:
        prefix = "network."
        own = {k.removeprefix(prefix): w for k, w in weights.items() if k.startswith(prefix)}
        self.network.load_state_dict(own)

    def on_fit_start(self) -> None:
        self._to_device()
        super().on_fit_start()
        check_positive(self.target, self.generator("check"))

    def check_networks(self, x: Tensor) -> None:
        if not hasattr(self.target, "graphs"):  # of graphs a network is given the graphs, too
            check_flux(self.network, x, self.target.n_states)

    def on_test_start(self) -> None:
        super().on_test_start()
        self._to_device()

    def _to_device(self) -> None:
        """Targets made of tensors, such as graphs; modules are moved with this one."""
        if hasattr(self.target, "to") and not isinstance(self.target, nn.Module):
            vars(self)["target"] = self.target.to(self.device)

    def on_train_start(self) -> None:
        super().on_train_start()
        if self.global_step == 0:
            self._probe(0)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        # Not in on_train_batch_end: the checkpoint of this step is written before that.
        self._probe(self.global_step + 1)

    def _probe(self, step: int) -> None:
        if step not in self.probe_at:
            return
        stage = self.probe_at.index(step)
        times = time_grid(self.n_steps_test, self.device)
        for probe in self.probes:
            for name, value in probe(self.network, self.target, times).items():
                self.probed[f"{name}@{stage}"] = float(value)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        times = time_grid(self.n_steps_test, self.device)
        paths = simulate_flow(self.flow, self.target, times, n, generator, moves=self.moves)
        extras = {"left_log_weights": paths.left_log_weights, "target_log_prob": paths.log_prob}
        return Draws(paths.end, paths.log_weights, paths.cost, extras)

    def further_results(self) -> dict[str, float]:
        return super().further_results() | self.probed

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["probed"] = self.probed

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.probed = checkpoint["probed"]
