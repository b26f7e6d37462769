"""DASBS: the discrete adjoint Schroedinger bridge sampler (arXiv 2602.08243).

Training alternates a controller phase and a corrector phase; every gradient step regresses on
pairs of path ends from a buffer that the averaged controller refills now and then.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from jumpbench.artifacts import submodule_weights
from jumpbench.methods.dasbs.bridge import Pairs, Reference
from jumpbench.methods.dasbs.guide import Guide
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.matching import Network
from jumpbench.methods.dasbs.probes import Moment
from jumpbench.methods.dasbs.refusals import check_settings
from jumpbench.methods.dasbs.sampler import (
    ControlledPaths,
    Grid,
    mode_persistence,
    simulate_controlled,
)
from jumpbench.methods.dasbs.sources import ConstantSource, Source, UniformSource
from jumpbench.methods.dasbs.stages import Stages
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.networks.interface import check_scores
from jumpbench.processes.schedules import Schedule
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.cost import Meter, metered
from jumpbench.samplers.draws import Draws
from jumpbench.seeding import make_generator
from jumpbench.targets.base import DiscreteTarget, check_target


class DASBS(TargetSampler):
    """Trains the controller log Phi_t(x) and the corrector log Phihat(x), and samples.

    Training is a sequence of stages, each of a controller phase and a corrector phase, until
    ``trainer.max_steps``. UDNS is the setting without corrector, with
    :class:`~jumpbench.methods.dasbs.matching.DenoisingMatching` and ``reweight``.

    Args:
        target: the unnormalised law nu.
        schedule: noise gamma_t of the uniform reference.
        controller: builds the :class:`Matcher` of the controller, such as a partial of it.
        corrector: the same of the corrector; None for a memoryless reference, where the corrector
            is the constant 1.
        source: builds the law mu.
        n_steps: tau-leaping steps M.
        start: first time of their grid, above 0 if memoryless.
        guided: the control is a :class:`~jumpbench.methods.dasbs.guide.Guide`'s: the ratios of nu,
            over the corrector, times t, plus (1 - t) times the network (not in the paper).
        compile: compile the networks (``torch.compile``), anew for every shape of a batch.
        probes: what is measured while it trains, see :mod:`~jumpbench.methods.dasbs.probes`.
        kwargs: ``warm_start``, ``evaluation``, ``seed`` of
            :class:`TargetSampler`.

    Raises:
        UserError: settings that cannot work together.
    """

    controller: Matcher
    corrector: Matcher
    guide: Guide | None

    unused_parameters = True
    """A step trains one of the two networks: distributed training must look for the other's."""

    def __init__(
        self,
        target: DiscreteTarget,
        schedule: Schedule,
        controller: Callable[..., Matcher],
        corrector: Callable[..., Matcher] | None = None,
        source: Callable[..., Source] = UniformSource,
        n_steps: int = 200,
        start: float = 0.0,
        guided: bool = False,
        compile: bool = False,
        probes: Sequence[Moment] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(target, **kwargs)
        self.automatic_optimization = False
        self.source = source(**self.sizes)
        self.reference = Reference(UniformProcess(target.n_states), schedule)
        self.memoryless = corrector is None
        self.controller = self.build(controller, "controller", **self.sizes)
        self.matchers = {"controller": self.controller}
        if corrector is not None:
            self.corrector = self.build(corrector, "corrector", **self.sizes)
            self.matchers["corrector"] = self.corrector
        self.start = start
        check_settings(self)
        corrected = None if self.memoryless else self.corrector.network
        self.guide = Guide(corrected) if guided else None
        self.grid = Grid.uniform(schedule, n_steps, start)
        corrector_steps = 0 if self.memoryless else cast(int, self.corrector.steps)
        self.stages = Stages(self.controller.steps, corrector_steps)
        self.probes = probes
        self.curves: dict[str, float] = {}
        self._pairs: dict[str, Any] = {}  # of a process but the first, until training goes on
        for matcher in self.matchers.values() if compile else ():
            for network in (matcher.network, matcher.average):
                network.compile(dynamic=False)  # in place: weights keep their names
        # Every process of a distributed run keeps the pairs that it simulated.
        self._ddp_params_and_buffers_to_ignore = [
            name for name, _ in self.named_buffers() if ".buffer." in name
        ]

    # Sampling

    @torch.no_grad()
    def log_control(self, x: Tensor, t: Tensor) -> Tensor:
        """log Phi_t(x) of the averaged controller: (B, D), (B,) -> (B, D, N)."""
        return self.control("average", Meter())(x, t)

    def control(self, weights: str, meter: Meter) -> Network:
        """log Phi as a function of (x, t), by the ``network`` or its ``average``."""
        network = self.controller.call(weights, meter)
        return network if self.guide is None else self.guide.control(network, self.target, meter)

    def paths(
        self, n: int, generator: torch.Generator, path_weights: bool, meter: Meter
    ) -> ControlledPaths:
        """``n`` paths of the averaged controller."""
        x = self.source.sample(n, generator)
        control = self.control("average", meter)
        return simulate_controlled(control, x, self.grid, self.reference, generator, path_weights)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        """Ends of paths; memoryless ones with E[exp(log weight)] = Z, otherwise unweighted."""
        meter, weights = Meter(), None
        paths = self.paths(n, generator, self.memoryless, meter)
        if paths.log_reference is not None:
            log_nu = metered(self.target, meter).log_prob(paths.end)
            log_states = self.target.length * math.log(self.target.n_states)
            weights = (log_nu + paths.log_reference).double() + log_states
        cost = meter.per_sample(n, len(self.grid.noise))
        extras = {"jumps_per_site": paths.jumps, "invalid": paths.invalid}
        if isinstance(self.source, ConstantSource):
            extras["mode_persistence"] = mode_persistence(paths, self.target.n_states)
        return Draws(paths.end, weights, cost, extras)

    # Training

    def setup(self, stage: str) -> None:
        for matcher in self.matchers.values():
            matcher.share(self.trainer.world_size)

    def on_fit_start(self) -> None:
        super().on_fit_start()
        check_target(self.target, self.source.sample(64, self.generator("check")))

    def check_networks(self, x: Tensor) -> None:
        check_scores(self.controller.network, x, self.target.n_states)
        if not self.memoryless:
            check_scores(self.corrector.network, x, self.target.n_states, timed=False)

    def start_from(self, weights: dict[str, Tensor]) -> None:
        for name, matcher in self.matchers.items():
            matcher.take(submodule_weights(weights, f"{name}.average.network"))

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return [m.optimizer(m.network.parameters()) for m in self.matchers.values()]

    @torch.no_grad()
    def refresh(self, matcher: Matcher) -> None:
        """Draws fresh pairs with the averaged controller into the buffer of one network."""
        generator = self.generator("simulate")
        n = matcher.pairs // self.trainer.world_size
        paths = self.paths(n, generator, matcher.reweight, self.meter)
        weight = None
        if paths.log_reference is not None:
            weight = self.metered_target.log_prob(paths.end) + paths.log_reference
        matcher.buffer.append(Pairs(paths.start, paths.end, weight))
        self.log("train/invalid", paths.invalid.mean())
        self.log("train/jumps_per_site", paths.jumps.mean())

    def training_step(self, batch: Tensor, batch_index: int) -> None:
        step = self.global_step
        place = self.stages.place(step)
        matcher = self.corrector if place.in_corrector_phase else self.controller
        if place.index == 0:
            matcher.buffer.clear()
            if self.guide is not None and matcher is self.controller and self.corrects(place.stage):
                self.guide.take(self.corrector.average.network)
        if place.index % matcher.refresh_every == 0:
            self.refresh(matcher)
        pairs = matcher.draw_pairs(self.generator("train"))
        loss = (
            self.corrector_loss(pairs)
            if place.in_corrector_phase
            else self.controller_loss(pairs, place.stage)
        )
        optimizers = self.optimizers()
        optimizer = (
            optimizers[int(place.in_corrector_phase)]
            if isinstance(optimizers, list)
            else optimizers
        )
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        matcher.average.update(matcher.network)
        if place.is_last:
            matcher.average.copy_to(matcher.network)
        self.log("train/loss", loss.detach())
        for moment in self.probes:
            point = moment.point(step, place)
            if point is not None:
                values = moment.probe(self, self.generator("probe"))
                self.curves |= {f"{name}@{point}": value for name, value in values.items()}

    def corrects(self, stage: int) -> bool:
        """Whether a stage has a corrector: stage 1 takes the constant 1, or one that was loaded.

        The released code recommends a loaded one. It is right if its run had this source and
        schedule; after others it is hardly better than the constant.
        """
        return not self.memoryless and (stage > 1 or self.warm_start is not None)

    def controller_loss(self, pairs: Pairs, stage: int) -> Tensor:
        """ctrl-AM or ctrl-DM of a batch of pairs."""

        def end_ratios(x: Tensor) -> Tensor:
            ratios = self.metered_target.neighbor_log_ratios(x).float()
            if not self.corrects(stage):
                return ratios
            return ratios - self.corrector.call("average", self.meter)(x)

        control = self.control("network", self.meter)
        divergence = self.controller.controller_divergence(
            control, pairs, end_ratios, self.reference, self.generator("train")
        )
        return self.controller.mean(divergence, pairs)

    def corrector_loss(self, pairs: Pairs) -> Tensor:
        """corr-AM or corr-DM of a batch of pairs."""

        def start_ratios(x: Tensor) -> Tensor:
            t = torch.full((len(x),), self.start, device=x.device)
            control = self.control("average", self.meter)(x, t)
            return self.source.neighbor_log_ratios(x) - control

        network = self.corrector.call("network", self.meter)
        return self.corrector.corrector_divergence(
            network, pairs, start_ratios, self.reference, self.generator("train")
        ).mean()

    def own_state(self) -> dict[str, Any]:
        own = super().own_state()
        if self.global_rank > 0:  # the first process's pairs are among the module's buffers
            own["pairs"] = {n: m.buffer.state_dict() for n, m in self.matchers.items()}
        return own

    def restore_own(self, state: dict[str, Any]) -> None:
        super().restore_own(state)
        self._pairs = dict(state.get("pairs", {}))

    def on_train_start(self) -> None:
        super().on_train_start()
        pairs, self._pairs = self._pairs, {}
        for name, buffer in pairs.items():
            self.matchers[name].buffer.load_state_dict(buffer)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["curves"] = dict(self.curves)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.curves = dict(checkpoint["curves"])

    # Testing

    def further_results(self) -> dict[str, float]:
        """The curves, and what the probes of stage ends say now."""
        values = dict(self.curves)
        for moment in self.probes:
            if moment.when_tested:
                values |= moment.probe(self, make_generator(self.seed, "probe", device=self.device))
        return values

    def further_artifacts(self) -> dict[str, Any]:
        return {"curves": dict(self.curves)}
