"""DASBS: the discrete adjoint Schroedinger bridge sampler (arXiv 2602.08243).

Training alternates a controller phase and a corrector phase; every gradient step regresses on
pairs of path ends from a buffer that the averaged controller refills now and then.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.dasbs.averaging import RampedAverage
from jumpbench.methods.dasbs.buffer import PairBuffer
from jumpbench.methods.dasbs.checks import check_setting
from jumpbench.methods.dasbs.evaluation import log_weight, summary
from jumpbench.methods.dasbs.losses import (
    controller_divergence,
    corrector_divergence,
    weighted_mean,
)
from jumpbench.methods.dasbs.matching import AdjointMatching, Matching, Pairs, Reference
from jumpbench.methods.dasbs.probes import Probe
from jumpbench.methods.dasbs.sampler import Grid, Paths, simulate
from jumpbench.methods.dasbs.sources import UniformSource
from jumpbench.methods.dasbs.stages import Stages
from jumpbench.methods.unnormalised.base import Builder, TargetSampler, submodule_weights
from jumpbench.processes.schedules import Schedule
from jumpbench.processes.uniform import UniformProcess
from jumpbench.targets.base import DiscreteTarget, Target, check_target


class DASBS(TargetSampler):
    """Trains the controller log Phi_t(x) and the corrector log Phihat(x), and samples.

    Training length is ``trainer.max_steps``: whole stages of ``controller_steps`` and
    ``corrector_steps`` gradient steps. UDNS is the setting without corrector, with
    :class:`DenoisingMatching` and ``reweight``.

    Args:
        target: the unnormalised law nu.
        schedule: noise gamma_t of the uniform reference.
        controller: builds a network (B, D), (B,) -> (B, D, N).
        corrector: builds a network (B, D) -> (B, D, N); None for a memoryless reference, where
            the corrector is the constant 1.
        optimizer: partial that takes the parameters; each network has its own.
        source: builds the law mu.
        controller_matching, corrector_matching: how targets are made.
        controller_steps, corrector_steps: of one stage.
        pairs: drawn per refresh, and per gradient step (over all devices).
        times: times per pair and gradient step.
        buffer_size: pairs kept (over all devices). refresh_every: gradient steps between refreshes.
        n_steps: tau-leaping steps M. start: first time of their grid, above 0 if memoryless.
        ema_decay: of the averaged weights, the only ones that simulate.
        reweight: weight pairs by p*/p^u of their path (memoryless only).
        compiler: wraps a network for speed, such as a partial of ``torch.compile``.
        chains_per_batch: chains per test batch.
        ground_truth: folder of the run whose artifacts hold ``samples``.
        warm_start: folder of a finished run, such as the next hotter temperature, whose averaged
            weights start this one, with fresh optimisers.
        stage_probes: measured after every controller phase, as ``NAME@STAGE``, and when tested.
        curve_probes: measured every ``curve_every`` steps, as ``NAME@STEP``.

    Raises:
        UserError: settings that cannot work together.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        schedule: Schedule,
        controller: Builder,
        corrector: Builder | None,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
        source: Callable[..., Target] = UniformSource,
        controller_matching: Matching | None = None,
        corrector_matching: Matching | None = None,
        controller_steps: int = 500,
        corrector_steps: int = 250,
        pairs: int = 128,
        times: int = 8,
        buffer_size: int = 512,
        refresh_every: int = 20,
        n_steps: int = 200,
        start: float = 0.0,
        ema_decay: float = 0.9999,
        reweight: bool = False,
        compiler: Callable[[nn.Module], Callable[..., Tensor]] | None = None,
        chains_per_batch: int = 512,
        ground_truth: str | None = None,
        warm_start: str | None = None,
        stage_probes: Sequence[Probe] = (),
        curve_probes: Sequence[Probe] = (),
        curve_every: int = 500,
        seed: int = 0,
    ) -> None:
        super().__init__(target, chains_per_batch, warm_start, seed=seed)
        self.automatic_optimization = False
        self.source = source(**self.sizes)
        self.reference = Reference(UniformProcess(target.n_states), schedule)
        self.controller_matching = controller_matching or AdjointMatching()
        self.corrector_matching = corrector_matching or AdjointMatching()
        self.memoryless = corrector is None
        self.reweight = reweight
        self.pairs, self.times, self.buffer_size = pairs, times, buffer_size
        self.refresh_every, self.curve_every = refresh_every, curve_every
        self.start = start
        check_setting(self)
        self.grid = Grid.uniform(schedule, n_steps, start)
        self.stages = Stages(controller_steps, 0 if self.memoryless else corrector_steps)
        self.optimizer = optimizer
        self.compiler = compiler
        self.ground_truth = ground_truth
        self.stage_probes, self.curve_probes = stage_probes, curve_probes
        self.curves: dict[str, float] = {}

        self.controller = self.build(controller, "controller", **self.sizes)
        self.controller_average = RampedAverage(self.controller, ema_decay)
        if not self.memoryless:
            self.corrector = self.build(corrector, "corrector", **self.sizes)
            self.corrector_average = RampedAverage(self.corrector, ema_decay)
        self.buffer = PairBuffer(buffer_size, target.length)
        # Every process of a distributed run keeps the pairs that it simulated.
        self._ddp_params_and_buffers_to_ignore = [
            f"buffer.{name}" for name, _ in self.buffer.named_buffers()
        ]
        self._callables: dict[str, Callable[..., Tensor]] = {}
        self._tested: list[Paths] = []

    def _network(self, name: str) -> Callable[..., Tensor]:
        """The network, or average, of that name, compiled if asked for."""
        if self.compiler is None:
            return getattr(self, name)
        if name not in self._callables:
            self._callables[name] = self.compiler(getattr(self, name))
        return self._callables[name]

    # Sampling

    @torch.no_grad()
    def log_control(self, x: Tensor, t: Tensor) -> Tensor:
        """log Phi_t(x) of the averaged controller: (B, D), (B,) -> (B, D, N)."""
        return self._network("controller_average")(x, t)

    def sample(
        self, n: int, generator: torch.Generator | None = None, path_weights: bool = False
    ) -> Paths:
        """``n`` paths of the averaged controller, ``chains_per_batch`` at a time."""
        generator = generator or self.generator("sample")
        parts = []
        for first in range(0, n, self.chains_per_batch):
            x = self.source.sample(min(self.chains_per_batch, n - first), generator)
            parts.append(self._simulate(x, generator, path_weights))
        return Paths.concatenate(parts)

    def _simulate(self, x: Tensor, generator: torch.Generator, path_weights: bool) -> Paths:
        return simulate(self.log_control, x, self.grid, self.reference, generator, path_weights)

    # Losses

    def controller_loss(self, pairs: Pairs, stage: int) -> Tensor:
        """ctrl-AM or ctrl-DM of a batch of pairs; in stage 1 the corrector is the constant 1."""

        def end_ratios(x: Tensor) -> Tensor:
            ratios = self.target.neighbor_log_ratios(x).float()
            if stage == 1 or self.memoryless:
                return ratios
            return ratios - self._network("corrector_average")(x)

        divergence = controller_divergence(
            self._network("controller"), pairs, self.times, self.controller_matching, end_ratios,
            self.reference, self.generator("train"),
        )  # fmt: skip
        return weighted_mean(divergence, pairs.log_weight if self.reweight else None)

    def corrector_loss(self, pairs: Pairs) -> Tensor:
        """corr-AM or corr-DM of a batch of pairs."""

        def start_ratios(x: Tensor) -> Tensor:
            t = torch.full((len(x),), self.start, device=x.device)
            return self.source.neighbor_log_ratios(x) - self.log_control(x, t)

        return corrector_divergence(
            self._network("corrector"), pairs, self.times, self.corrector_matching, start_ratios,
            self.reference, self.generator("train"),
        ).mean()  # fmt: skip

    # Training

    def setup(self, stage: str) -> None:
        world = self.trainer.world_size
        if self.pairs % world or self.buffer_size % world:
            raise UserError(
                f"pairs={self.pairs} and buffer_size={self.buffer_size} cannot be shared by "
                f"{world} devices; choose trainer.devices so that it divides both"
            )
        if world > 1 and self.buffer.capacity == self.buffer_size:
            self.buffer = PairBuffer(self.buffer_size // world, self.target.length)

    def on_fit_start(self) -> None:
        super().on_fit_start()
        check_target(self.target, self.source.sample(64, self.generator("check")))

    def start_from(self, weights: dict[str, Tensor]) -> None:
        for name in ("controller",) if self.memoryless else ("controller", "corrector"):
            averaged = submodule_weights(weights, f"{name}_average.network")
            getattr(self, name).load_state_dict(averaged)
            getattr(self, f"{name}_average").network.load_state_dict(averaged)

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        networks = [self.controller] if self.memoryless else [self.controller, self.corrector]
        return [self.optimizer(network.parameters()) for network in networks]

    @torch.no_grad()
    def refresh(self) -> None:
        """Draws fresh pairs with the averaged controller into the buffer."""
        generator = self.generator("simulate")
        n = self.pairs // self.trainer.world_size
        x = self.source.sample(n, generator)
        paths = self._simulate(x, generator, self.reweight)
        weight = log_weight(self.target, paths) if self.reweight else None
        self.buffer.append(Pairs(paths.start, paths.end, weight))
        self.log("train/invalid", paths.invalid.mean())
        self.log("train/jumps_per_site", paths.jumps.mean())

    def training_step(self, batch: Tensor, batch_idx: int) -> None:
        step = self.global_step
        place = self.stages.place(step)
        if place.index == 0:
            self.buffer.clear()
        if place.index % self.refresh_every == 0:
            self.refresh()
        pairs = self.buffer.draw(self.pairs // self.trainer.world_size, self.generator("train"))
        if place.in_corrector_phase:
            loss = self.corrector_loss(pairs)
            network, average = self.corrector, self.corrector_average
        else:
            loss = self.controller_loss(pairs, place.stage)
            network, average = self.controller, self.controller_average
        optimizers = self.optimizers()
        optimizer = optimizers if self.memoryless else optimizers[int(place.in_corrector_phase)]
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        average.update(network)
        if place.is_last:
            average.copy_to(network)
        self.log("train/loss", loss.detach())
        if place.is_last and not place.in_corrector_phase:
            self._probe(self.stage_probes, place.stage)
        if (step + 1) % self.curve_every == 0:
            self._probe(self.curve_probes, step + 1)

    def _probe(self, probes: Sequence[Probe], point: int) -> None:
        for probe in probes:
            for name, value in probe(self, self.generator("probe")).items():
                self.curves[f"{name}@{point}"] = float(value)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["curves"] = dict(self.curves)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.curves = dict(checkpoint["curves"])

    # Testing

    def on_test_epoch_start(self) -> None:
        self._tested = []

    def test_step(self, batch: Tensor, batch_idx: int) -> None:
        paths = self.sample(self.chains_per_batch, self.generator("test"), self.memoryless)
        self._tested.append(paths)

    def on_test_epoch_end(self) -> None:
        paths, self._tested = Paths.concatenate(self._tested), []
        if self.trainer.world_size > 1:
            paths = paths.gathered(self.all_gather)
        values = summary(self.target, paths, self.memoryless, self.ground_truth)
        for probe in self.stage_probes:
            values |= probe(self, self.generator("probe"))
        values |= self.curves | {"n_samples": float(len(paths.end))}
        self.log_dict({f"test/{name}": float(value) for name, value in values.items()})
        self.artifacts["samples"] = paths.end.to(torch.uint8).cpu()
        self.artifacts["curves"] = dict(self.curves)
