"""SEDD with the uniform process, on ordered lists of integers taken as plain sequences."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.data.lists import Batch
from jumpbench.evaluations.base import Evaluation
from jumpbench.kernels.categorical import sample_categorical
from jumpbench.methods.trained import TrainedMethod
from jumpbench.processes.permutations import apply
from jumpbench.processes.schedules import LogLinear, Schedule
from jumpbench.processes.score_entropy import denoising_score_entropy
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws

FIRST_TIME = 1e-3  # training times start here, as in SEDD: at 0 the ratios are infinite
CLEAN = 1e-5  # sampling stops here and removes the rest of the noise at once


class Sedd(TrainedMethod):
    """Score-entropy discrete diffusion (Lou et al. 2024) of sequences of length n, vocabulary n.

    Trained on the ordered lists of the batches. The test stage draws as many sequences as there
    are test lists, to be judged by :class:`~jumpbench.evaluations.lists.SequenceScores`.

    Args:
        network: states ``(B, n)`` and noise ``(B,)`` -> log-scores ``(B, n, N)``.
        n_states: N.
        schedule: accumulated noise, log-linear by default.
        steps: analytic (Tweedie) steps of the sampler; one denoising step follows.
    """

    def __init__(
        self,
        network: nn.Module,
        n_states: int,
        optimizer: Callable[[Any], Optimizer],
        rate: Callable[[Optimizer], LRScheduler] | None = None,
        schedule: Schedule | None = None,
        steps: int = 128,
        evaluation: Evaluation | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(network, optimizer, rate, evaluation, seed)
        self.process = UniformProcess(n_states)
        self.schedule = schedule or LogLinear()
        self.steps = steps

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        generator = self.generator("noise")
        x0 = apply(batch["order"], batch["objects"])
        u = torch.rand(len(x0), generator=generator, device=x0.device)
        t = FIRST_TIME + (1 - FIRST_TIME) * u
        noise, rate = self.schedule.total(t), self.schedule.rate(t)
        xt = self.process.sample(x0, noise, generator)
        self.meter.count("network", xt)
        log_score = self.network(xt, noise)
        loss = denoising_score_entropy(self.process, log_score, x0, xt, noise, rate).mean()
        return self.logged(loss)

    def sample(self, n_samples: int, length: int, generator: torch.Generator) -> Tensor:
        """Sequences ``(n_samples, length)`` by the reverse process from uniform symbols."""
        x = self.process.sample_limit(
            n_samples, length, generator=generator, device=generator.device
        )
        times = torch.linspace(1, CLEAN, self.steps + 1, dtype=torch.float64)
        totals = self.schedule.total(times)
        for noise, removed in zip(totals, -totals.diff(), strict=False):
            x = sample_categorical(
                self.process.analytic_step(x, self._score(x, noise), removed), generator
            )
        clean = self.process.denoise(x, self._score(x, totals[-1]), totals[-1])
        return sample_categorical(clean, generator)

    def _score(self, x: Tensor, noise: Tensor) -> Tensor:
        return self.network(x, noise.float().to(x.device).expand(len(x))).exp()

    def draw(self, batch: Batch, generator: torch.Generator) -> Draws:
        samples = self.sample(*batch["order"].shape, generator)
        steps = self.steps + 1.0
        return Draws(samples, cost=Cost(steps, sequential_steps=steps))
