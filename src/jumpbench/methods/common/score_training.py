"""Training a discrete diffusion model by score entropy (SEDD, Lou et al. 2024), for any process."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from jumpbench.errors import UserError
from jumpbench.evaluations.base import Evaluation
from jumpbench.methods.common.trained import TrainedMethod
from jumpbench.ops.categorical import sample_categorical
from jumpbench.processes.base import SiteProcess
from jumpbench.processes.schedules import Geometric, Schedule
from jumpbench.processes.score_entropy import denoising_score_entropy
from jumpbench.samplers.cost import Cost
from jumpbench.samplers.draws import Draws

FIRST_TIME = 1e-3
"""Training times start here, as in SEDD: at 0 the ratios are infinite."""

CLEAN = 1e-5
"""Sampling stops here and removes the rest of the noise at once."""


class ScoreTraining(TrainedMethod):
    """Fits a network to the ratios p_t(x with site i := v) / p_t(x) of noised sequences.

    The loss is the score entropy at one uniform time per state, weighted by the rate: its mean
    over times bounds -log p(x_0) in nats, up to what noise is left at both ends of the interval.

    The test stage draws as many sequences as the batches hold states, by analytic reverse steps,
    and gives the bound of the test states (extra ``bound``, nats per state, as the mean over
    ``bound_draws`` times). The artifact ``network`` holds the weights that were tested (averaged
    ones, if the trainer averages), for runs that need this one as their prior.

    Args:
        network: states (B, D) and noise (B,) -> log-scores (B, D, N).
        process: forward process of a site, uniform or masked.
        optimizer: made of the network's parameters.
        scheduler: learning rate per step, if any.
        schedule: accumulated noise, by default geometric from 1e-4 to 20.
        steps: reverse steps of the sampler; one denoising draw follows.
        compile: see :class:`~jumpbench.methods.common.trained.TrainedMethod`.
    """

    def __init__(
        self,
        network: nn.Module,
        process: SiteProcess,
        optimizer: Callable[[Any], Optimizer],
        scheduler: Callable[[Optimizer], LRScheduler] | None = None,
        schedule: Schedule | None = None,
        steps: int = 128,
        bound_draws: int = 4,
        evaluation: Evaluation | None = None,
        seed: int = 0,
        compile: bool = False,
    ) -> None:
        super().__init__(network, optimizer, scheduler, evaluation, seed, compile)
        self.process = process
        self.schedule = schedule or Geometric()
        self.steps, self.bound_draws = steps, bound_draws

    def clean_states(self, batch: Any) -> Tensor:
        """States (B, D), ``long``, of a batch: itself, or what it holds as ``states``."""
        return batch["states"] if isinstance(batch, Mapping) else batch

    def loss(self, x0: Tensor, generator: torch.Generator) -> Tensor:
        """Weighted score entropy (B,) at one random time per state, nats."""
        u = torch.rand(len(x0), generator=generator, device=x0.device)
        t = FIRST_TIME + (1 - FIRST_TIME) * u
        noise, rate = self.schedule.total(t), self.schedule.rate(t)
        xt = self.process.sample(x0, noise, generator)
        log_score = self.network(xt, noise).float()
        if log_score.shape != (wanted := (*xt.shape, self.process.n_states)):
            raise UserError(
                f"network {type(self.network).__name__} must give log-scores {wanted}, not "
                f"{tuple(log_score.shape)}"
            )
        return denoising_score_entropy(self.process, log_score, x0, xt, noise, rate)

    def training_step(self, batch: Any, batch_index: int) -> Tensor:
        x0 = self.clean_states(batch)
        self.meter.count("network", x0)
        return self.logged(self.loss(x0, self.generator("noise")).mean())

    def score(self, x: Tensor, noise: Tensor) -> Tensor:
        """Ratios (B, D, N), float32, at one accumulated noise for all states."""
        return self.network(x, noise.float().to(x.device).expand(len(x))).float().exp()

    @torch.no_grad()
    def sample(self, n_samples: int, length: int, generator: torch.Generator) -> Tensor:
        """Sequences (n_samples, length), from noise by analytic steps and a denoising draw."""
        x = self.process.sample_limit(
            n_samples, length, generator=generator, device=generator.device
        )
        totals = self.schedule.total(torch.linspace(1, CLEAN, self.steps + 1, dtype=torch.float64))
        for noise, removed in zip(totals, -totals.diff(), strict=False):
            law = self.process.analytic_step(x, self.score(x, noise), removed)
            x = sample_categorical(law, generator)
        law = self.process.denoise(x, self.score(x, totals[-1]), totals[-1])
        return sample_categorical(law, generator)

    @torch.no_grad()
    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        x0 = self.clean_states(batch)
        samples = self.sample(len(x0), x0.shape[1], generator)
        extras = {}
        if self.bound_draws:
            terms = [self.loss(x0, generator) for _ in range(self.bound_draws)]
            extras["bound"] = torch.stack(terms).double().mean(0)
        calls = self.steps + 1
        return Draws(samples, cost=Cost(calls, 0, calls), extras=extras)

    def further_artifacts(self) -> dict[str, Any]:
        weights = self.network.state_dict()
        return {"network": {name: value.detach().cpu() for name, value in weights.items()}}
