"""DRAKES: fine-tuning of a masked diffusion model by back-propagated rewards (Wang et al. 2024)."""

import copy
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumpbench.artifacts import load_weights
from jumpbench.methods.common.trained import TrainedMethod
from jumpbench.methods.sgdd.baselines.common import sampling_times
from jumpbench.methods.sgdd.baselines.unconditional import Unconditional
from jumpbench.methods.sgdd.learned_prior import NetworkScore
from jumpbench.methods.sgdd.prior import ScorePrior, analytic
from jumpbench.methods.sgdd.problems.design import DesignProblem
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear, Schedule
from jumpbench.samplers.draws import Draws


class Drakes(TrainedMethod):
    """Maximises E[r(x)] - alpha KL(p_theta || p_old) over the sampler's own paths.

    Sequences are drawn by the masked sampler; each draw is the hard one-hot vector going forward
    and the Gumbel softmax going back, so that the reward's gradient reaches the network through the
    last ``differentiated`` steps. KL is that of the two paths, sum over steps from t to s and over
    masked sites of (m_t - m_s)/m_t KL(p_theta(x_0|x_t) || p_old(x_0|x_t)), m being the probability
    of a mask. Its optimum is p_old(x) exp(r(x)/alpha) / Z; without KL, the best sequence alone.

    The test stage draws from the trained network: ``steps`` reverse steps and a denoising draw.

    Args:
        network: states, or weights over symbols, and noise -> log-scores (B, D, V + 1).
        weights: folder of the run that trained the model p_old; None: the network as it is.
        process: that it was trained with.
        schedule: likewise.
        problem: gives the reward; its ``beta`` has no say.
        kl_weight: alpha; 0 is the variant without KL.
        steps: of a sampled path.
        differentiated: how many of them gradients pass.
        temperature: of the Gumbel softmax.
        batch_size: sequences a training step.
        settings: of :class:`~jumpbench.methods.common.trained.TrainedMethod`.
    """

    def __init__(
        self,
        network: nn.Module,
        process: MaskedProcess,
        problem: DesignProblem,
        weights: str | Path | None = None,
        schedule: Schedule | None = None,
        kl_weight: float = 1e-3,
        steps: int = 128,
        differentiated: int = 50,
        temperature: float = 1.0,
        batch_size: int = 32,
        **settings: Any,
    ) -> None:
        network = load_weights(network, weights)
        super().__init__(network=network, **settings)
        self.old = copy.deepcopy(network).requires_grad_(False).eval()
        self.process, self.problem = process, problem
        self.schedule = schedule or LogLinear()
        self.kl_weight, self.steps, self.differentiated = kl_weight, steps, differentiated
        self.temperature, self.batch_size = temperature, batch_size

    def paths(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Sequences as one-hot weights (size, D, V) with a gradient; their KL (size,), nats."""
        mask, length = self.process.mask, self.problem.length
        start = self.process.sample_limit(size, length, device=generator.device)
        x = F.one_hot(start, self.process.n_states).float()
        divergence = x.new_zeros(size)
        times = sampling_times(self.steps)
        for k, t in enumerate(times):
            s = times[k + 1] if k < self.steps else None  # None: the last draw leaves no mask
            followed = k > self.steps - self.differentiated
            graph = torch.is_grad_enabled() and (followed or self.kl_weight > 0)
            with torch.set_grad_enabled(graph):
                log_clean = self._log_clean(self.network, x, t)
                if self.kl_weight > 0:
                    gain = log_clean - self._log_clean(self.old, x, t)
                    each = (log_clean.exp() * gain).sum(-1)
                    divergence = divergence + self._revealed(t, s) * (x[..., mask] * each).sum(-1)
            log_clean = log_clean if followed else log_clean.detach()
            new = self._drawn(log_clean, self._revealed(t, s), generator)
            known = F.pad(x[..., :mask], (0, 1))
            x = known + x[..., mask, None] * new
        return x[..., :mask], divergence

    def _log_clean(self, network: nn.Module, x: Tensor, t: float) -> Tensor:
        """log p(x_0 | x_t = x) of a masked site, (B, D, V)."""
        noise = self.schedule.total(t).float().to(x.device).expand(len(x))
        return network(x, noise)[..., : self.process.mask].float().log_softmax(-1)

    def _revealed(self, t: float, s: float | None) -> float:
        """(m_t - m_s)/m_t: how probably a masked site of time t has its symbol at time s."""
        if s is None:
            return 1.0
        hidden = -torch.expm1(-self.schedule.total(torch.tensor([t, s], dtype=torch.float64)))
        return float(1 - hidden[1] / hidden[0])

    def _drawn(self, log_clean: Tensor, revealed: float, generator: torch.Generator) -> Tensor:
        """One-hot draws (B, D, V + 1): a symbol with probability ``revealed``, or else the mask."""
        stay = math.log1p(-revealed) if revealed < 1 else -math.inf
        logits = F.pad(log_clean + math.log(revealed), (0, 1), value=stay)
        exponential = torch.empty_like(logits).exponential_(generator=generator)
        gumbel = -exponential.clamp(min=torch.finfo(torch.float32).tiny).log()
        soft = ((logits + gumbel) / self.temperature).softmax(-1)
        hard = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
        return hard + soft - soft.detach()

    def training_step(self, batch: Any, batch_index: int) -> Tensor:
        x, divergence = self.paths(self.batch_size, self.generator("paths"))
        reward = self.problem.reward(x)
        self.meter.network += self.batch_size * (self.steps + 1) * (1 + (self.kl_weight > 0))
        self.meter.energy += self.batch_size
        return self.logged(self.kl_weight * divergence.mean() - reward.mean())

    @torch.no_grad()
    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        score = NetworkScore(self.network, self.schedule)
        prior = ScorePrior(
            score, self.process, self.problem.length,
            schedule=self.schedule, reverse_step=analytic,
        )  # fmt: skip
        sampler = Unconditional(self.steps)
        return sampler(prior, None, generator, self.problem.n_chains(batch))
