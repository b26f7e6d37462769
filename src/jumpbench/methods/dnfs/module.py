"""DNFS as a LightningModule: a thin shell around the learner, for one target."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.evaluations.normaliser import Normaliser
from jumpbench.methods.base import Method
from jumpbench.methods.dnfs.estimates import Estimate, control_variate
from jumpbench.methods.dnfs.learner import Learner
from jumpbench.methods.dnfs.paths import Move, Paths, simulate, time_grid
from jumpbench.methods.dnfs.residual import check_positive
from jumpbench.networks.letf import LeTF
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.weights import effective_sample_size
from jumpbench.seeding import derive_seed
from jumpbench.targets.base import DiscreteTarget

Builder = Callable[..., nn.Module]
Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
Probe = Callable[[nn.Module, DiscreteTarget, Tensor], dict[str, float]]

adamw = partial(torch.optim.AdamW, lr=1e-3, weight_decay=1e-4)


class DNFS(Method):
    """Discrete Neural Flow Sampler (Ou et al. 2025) of one positive target.

    Every ``refresh_every`` steps the learner simulates; every step is one optimiser step on its
    loss. A test batch is ``chains_per_batch`` weighted trajectories; their ``left_log_weights``
    are among the extras.

    Args:
        target: any :class:`~jumpbench.targets.base.Target`; parameters of a target get no
            gradient and are no parameters of this module.
        network: builds, from ``length`` and ``n_states``, a locally equivariant network.
        optimizer: partial that takes the parameters.
        n_steps, chains, stored, batch_size, clamp, estimate, keep_slopes: of :class:`Learner`.
        free_energy: builds the network of LEAPS for d/dt log Z_t, learnt jointly.
        refresh_every: optimiser steps between roll-outs.
        chains_per_batch: trajectories per test batch.
        n_steps_test: time steps in the test stage; by default those of training.
        move: MCMC moves after every Euler step of the test stage.
        probes: numbers of the network taken at the steps ``probe_at``, named ``NAME@STEP``.
        compiler: wraps the network, such as ``torch.compile``.
        evaluation: by default effective sample size and log Z.
        seed: of all generators.

    Raises:
        UserError: counts below one, a target that is not positive or finite.
    """

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
        free_energy: Builder | None = None,
        refresh_every: int = 100,
        chains_per_batch: int = 2048,
        n_steps_test: int | None = None,
        move: Move | None = None,
        probes: Sequence[Probe] = (),
        probe_at: Sequence[int] = (),
        compiler: Callable[[nn.Module], nn.Module] | None = None,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed, evaluation or Normaliser())
        if min(refresh_every, chains_per_batch) < 1:
            raise UserError("refresh_every and chains_per_batch must be at least 1")
        # A tuple hides a target that is a module: its parameters are not ours to train.
        self._target = (target,)
        self.network = self.build(network, "network")
        self.free_energy = None if free_energy is None else self._free_energy(free_energy)
        self.flow = (compiler(self.network) if compiler else self.network,)
        self.optimizer = optimizer
        self.sizes = {"chains": chains, "batch_size": batch_size}
        self.learner = Learner(
            self.flow[0], n_steps, chains, stored, batch_size, clamp, estimate, self.free_energy,
            keep_slopes,
        )  # fmt: skip
        self.learner.meter = self.meter
        self.refresh_every = refresh_every
        self.chains_per_batch = chains_per_batch
        self.n_steps_test = n_steps_test or n_steps
        self.move = move
        self.probes, self.probe_at = probes, set(probe_at)
        self.probed: dict[str, float] = {}
        self.curves: dict[str, list[float]] = {}
        self._losses: list[Tensor] = []
        self._stored: dict[str, Any] | None = None

    @property
    def target(self) -> DiscreteTarget:
        return self._target[0]

    def build(self, builder: Builder, name: str) -> nn.Module:
        """A network whose initial weights depend on the seed and the name alone."""
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(self.seed, name))
            return builder(length=self.target.length, n_states=self.target.n_states)

    def _free_energy(self, builder: Builder) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(self.seed, "free_energy"))
            return builder()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.optimizer([p for p in self.parameters() if p.requires_grad])

    # Training

    def laws(self, batch: Any) -> DiscreteTarget:
        """The target of the next roll-out."""
        return self.target

    def _on_device(self) -> None:
        if isinstance(self.target, nn.Module) or hasattr(self.target, "to"):
            self._target = (self.target.to(self.device),)

    def on_fit_start(self) -> None:
        self._on_device()
        world = self.trainer.world_size
        for name, size in self.sizes.items():
            if size % world:
                raise UserError(
                    f"{name}={size} cannot be shared by {world} devices; choose trainer.devices "
                    "so that it divides"
                )
            setattr(self.learner, name, size // world)
        check_positive(self.target, self.generator("check"))

    def on_train_start(self) -> None:
        super().on_train_start()
        if self._stored is not None:
            self.learner.restore(self._stored, self.target, self.device)
            self._stored = None
        elif self.global_step == 0:
            self._probe()

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        if self.global_step % self.refresh_every == 0:
            paths = self.learner.refresh(self.laws(batch), self.generator("paths"), self._mean)
            self._record(paths)
        loss = self.learner.loss(self.generator("pairs"))
        self._losses.append(loss.detach())
        return loss

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self.global_step in self.probe_at:
            self._probe()

    def _mean(self, estimate: Tensor) -> Tensor:
        """Over processes, whose trajectories differ."""
        return self.all_gather(estimate).mean(0) if self.trainer.world_size > 1 else estimate

    def _record(self, paths: Paths) -> None:
        """One point of Figure 1 a roll-out: spreads of both estimators, ESS, mean loss before."""
        loss = torch.stack(self._losses).mean() if self._losses else torch.tensor(torch.nan)
        self._losses = []
        point = {
            "step": self.global_step,
            "slope_std": paths.slopes.std(1).mean(),
            "integrand_std": paths.integrands.std(1).mean(),
            "ess": effective_sample_size(paths.log_weights).mean(),
            "loss": loss,
        }
        for name, value in point.items():
            self.curves.setdefault(name, []).append(float(value))
        self.log_dict({f"train/{name}": float(v) for name, v in point.items() if name != "step"})

    def _probe(self) -> None:
        times = time_grid(self.n_steps_test, self.device)
        for probe in self.probes:
            values = probe(self.network, self.target, times)
            for name, value in values.items():
                self.probed[f"{name}@{self.global_step}"] = float(value)

    # Testing

    def on_test_start(self) -> None:
        self._on_device()

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        paths = simulate(
            self.flow[0], self.target, time_grid(self.n_steps_test, self.device),
            self.chains_per_batch, generator, move=self.move,
        )  # fmt: skip
        extras = {"left_log_weights": paths.left_log_weights, "log_prob": paths.log_prob}
        return Draws(paths.end, paths.log_weights, paths.cost, extras)

    def further_results(self) -> dict[str, float]:
        return dict(self.probed)

    def further_artifacts(self) -> dict[str, Any]:
        return {"curves": {name: torch.tensor(v) for name, v in self.curves.items()}}

    # Checkpoints

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        losses = [float(loss) for loss in self._losses]
        checkpoint["dnfs"] = {
            "learner": self.learner.plain(), "curves": self.curves, "probed": self.probed,
            "losses": losses,
        }  # fmt: skip

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        kept = checkpoint["dnfs"]
        self._stored, self.curves, self.probed = kept["learner"], kept["curves"], kept["probed"]
        self._losses = [torch.tensor(loss, device=self.device) for loss in kept["losses"]]
