"""Blackout Diffusion: learn how much of every count is lost, then bring it back."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from jumpbench.artifacts import load_weights
from jumpbench.data.counts import Batch
from jumpbench.errors import UserError
from jumpbench.methods.blackout.likelihood import bound
from jumpbench.methods.blackout.losses import finite_time
from jumpbench.methods.blackout.maximum import check_maximum
from jumpbench.methods.blackout.model import LostUnits
from jumpbench.methods.common.trained import TrainedMethod
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import ObservationTimes
from jumpbench.samplers.counts import Corrector, CountStep, PoissonLeap, generate_counts
from jumpbench.samplers.draws import Draws

adam = partial(torch.optim.Adam, lr=2e-4)


class Blackout(TrainedMethod):
    """The reversal of pure death, learned by regression (Algorithms 1 and 2).

    Training batches hold ``counts`` (B, ...) in 0..M. A test batch asks for ``count`` samples and
    may hold held-out ``counts``; estimates of a bound on their negative log-likelihood (nats) are
    then part of the draws: ``extras["bound"]`` (B, R), R held-out counts per sample.

    Args:
        network: see :class:`~jumpbench.methods.blackout.model.LostUnits`.
        process: pure death, which knows M.
        grid: observation times.
        weight: grid -> weights (T + 1,) of the times (:mod:`~jumpbench.methods.blackout.losses`).
            They are multiplied by T, so that the mean of the paper's is about 1.
        optimizer: parameters -> optimiser.
        step: process -> how a sampler goes from t_k to an earlier time.
        corrector: process, grid -> what follows a step.
        stride: a sampler visits every ``stride``-th time.
        shape: of one sample; by default that of the counts of the first batch.
        weights: folder of the run whose weights are sampled.
        keep: indices whose states are kept as ``extras["path"]`` of the first test batch.
        bernoulli_bound: the bound is that of Bernoulli steps (M = 1), not of Poisson leaps.
        bound_strata: times at which the bound is evaluated for one image, apart from t_1.
        input_scale: see :class:`~jumpbench.methods.blackout.model.LostUnits`.
        output_scale: likewise.
        output_by_time: likewise.
        dropout_in_sampling: leave dropout on while sampling, as the published notebooks do.
        options: of :class:`~jumpbench.methods.common.trained.TrainedMethod`.
    """

    network: LostUnits
    survival: Tensor
    gone: Tensor
    weight: Tensor

    def __init__(
        self,
        network: nn.Module,
        process: PureDeath,
        grid: ObservationTimes,
        weight: Callable[[ObservationTimes], Tensor] = finite_time,
        optimizer: Callable[[Iterable[nn.Parameter]], Optimizer] = adam,
        step: Callable[[PureDeath], CountStep] = PoissonLeap,
        corrector: Callable[[PureDeath, ObservationTimes], Corrector] | None = None,
        stride: int = 1,
        shape: Collection[int] | None = None,
        weights: str | None = None,
        keep: Collection[int] = (),
        bernoulli_bound: bool = False,
        bound_strata: int = 1,
        input_scale: float = 1.0,
        output_scale: float = 1.0,
        output_by_time: bool = False,
        dropout_in_sampling: bool = False,
        **options: Any,
    ) -> None:
        model = LostUnits(network, grid, process.maximum, input_scale, output_scale, output_by_time)
        super().__init__(model, optimizer, **options)
        if bernoulli_bound and process.maximum != 1:
            raise UserError("bernoulli_bound is for counts that are 0 or 1")
        grid.visits(stride)  # refuses a stride that does not divide T
        self.process, self.grid = process, grid
        self.register_buffer("survival", grid.survival.float(), persistent=False)
        self.register_buffer("gone", grid.loss.float(), persistent=False)
        scaled = grid.steps * weight(grid)
        self.register_buffer("weight", scaled.float(), persistent=False)
        self.step = step(process)
        self.corrector = corrector(process, grid) if corrector is not None else None
        self.stride, self.keep = stride, tuple(keep)
        self.shape = tuple(shape) if shape is not None else None
        self.weights = weights
        self.bernoulli_bound, self.bound_strata = bernoulli_bound, bound_strata
        self.dropout_in_sampling = dropout_in_sampling

    # Training

    def on_fit_start(self) -> None:
        super().on_fit_start()
        data = getattr(self.trainer, "datamodule", None)
        check_maximum("PureDeath", self.process.maximum, data)

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        start = batch["counts"]
        if self.shape is None:
            self.shape = tuple(start.shape[1:])
        generator = self.generator("noise")
        x, k = self.noised(start, generator)
        self.meter.count("network", x, start.ndim - 1)
        return self.logged((self.weight[k] * self.network.loss(start, x, k)).mean())

    def noised(self, start: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Counts at a random observation time per image, and its index k in 1..T."""
        k = torch.randint(
            1, self.grid.steps + 1, (len(start),), generator=generator, device=start.device
        )
        sites = [1] * (start.ndim - 1)
        survival, gone = (table[k].view(-1, *sites) for table in (self.survival, self.gone))
        return self.process.observed(start, survival, gone, generator), k

    # Sampling

    def setup(self, stage: str) -> None:
        if stage == "test" and self.weights is not None:
            load_weights(self.network, self.weights, "network")

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        held_out = batch.get("counts")
        if self.shape is None and held_out is not None:
            self.shape = tuple(held_out.shape[1:])
        drawn = self.sample(int(batch["count"]), generator, self.keep)
        if held_out is not None and len(held_out):
            nats = self.bound(held_out, generator)
            drawn.extras["bound"] = nats.view(len(drawn), -1)
        return drawn

    def sample(
        self, count: int, generator: torch.Generator | None = None, keep: Collection[int] = ()
    ) -> Draws:
        """``count`` samples, integers (count, *shape).

        Raises:
            UserError: nobody has said what shape a sample has.
        """
        shape = self._sample_shape()
        with self._evaluated(self.dropout_in_sampling, generator):
            return generate_counts(
                self.network.at, self.process, self.grid, (count, *shape), self.step,
                corrector=self.corrector, stride=self.stride, keep=keep, generator=generator,
                device=self.device,
            )  # fmt: skip

    @torch.no_grad()
    def bound(self, counts: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Unbiased estimates (B,) of upper bounds on -log p(``counts``), (B, ...), in nats.

        Their mean over many counts estimates a bound; single ones scatter, also below zero.
        """
        generator = generator or self.generator("bound")
        with self._evaluated():
            parts = [
                bound(
                    self.network, self.process, self.grid, part, generator, self.bound_strata,
                    self.bernoulli_bound,
                )
                for part in counts.split(500)
            ]  # fmt: skip
        return torch.cat(parts)

    @contextmanager
    def _evaluated(
        self, dropout: bool = False, generator: torch.Generator | None = None
    ) -> Iterator[None]:
        """The network as it samples; afterwards as it was, since a fit may be under way.

        Dropout draws from torch's own stream, which ``generator`` then seeds: samples depend on
        nothing else.
        """
        training = self.network.training
        self.network.train(dropout)
        try:
            with ExitStack() as stack:
                if dropout and generator is not None:
                    stack.enter_context(torch.random.fork_rng())
                    seed = torch.randint(2**62, (), generator=generator, device=generator.device)
                    torch.manual_seed(int(seed))
                yield
        finally:
            self.network.train(training)

    def _sample_shape(self) -> tuple[int, ...]:
        if self.shape is None:
            raise UserError("give Blackout the shape of a sample, as shape=(1, 16, 16)")
        return self.shape
