"""Priors for posterior sampling: what a sampler may ask of a discrete diffusion model.

Time t is forward noise time: 0 clean, 1 noise; sigma(0) > 0 is tiny, and ``CLEAN`` is where the
steps end and one denoising draw removes the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from jumpbench.ops.categorical import sample_categorical, symbols_of
from jumpbench.ops.checks import require
from jumpbench.processes.base import SiteProcess
from jumpbench.processes.schedules import Geometric, Schedule

CLEAN = 1e-5


class Transition(Protocol):
    """A random move of a state (..., D); draws are independent over the leading dimensions.

    Attributes:
        network_calls: score evaluations, per state.
        counted_calls: the same as tables count them (HK for SGDD): the denoising draw that
            ends some reverse steps is free, one that stands alone is not.
    """

    network_calls: int
    counted_calls: int

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor: ...


class Prior(nn.Module, ABC):
    """A diffusion model over sequences: a score, and the reverse moves that it drives.

    A module, so that the score's network moves to a device and is found in a checkpoint; samplers
    never train it.

    Args:
        process: forward process of a site, uniform or masked; N is its number of states.
        length: D; states are integers (..., D).
        schedule: accumulated noise sigma(t), by default sigma_min = 1e-4, sigma_max = 20.
        reverse_step: one reverse step, :func:`euler` (the paper) or :func:`analytic`.
    """

    def __init__(
        self,
        process: SiteProcess,
        length: int,
        schedule: Schedule | None = None,
        reverse_step: "ReverseStep | None" = None,
    ) -> None:
        super().__init__()
        self.process, self.n_states, self.length = process, process.n_states, length
        self.schedule = schedule or Geometric()
        self.reverse_step = reverse_step or euler

    @abstractmethod
    def score(self, x: Tensor, t: float) -> Tensor:
        """p_t(x with site i := v) / p_t(x), (..., D, N), float32 or float64, finite."""

    def step_probabilities(self, x: Tensor, t: float, s: float) -> Tensor:
        """Per-site law (..., D, N) of one reverse step from time t to s < t."""
        return self.reverse_step(self, x, self.score(x, t), t, s)

    def clean_probabilities(self, x: Tensor, t: float) -> Tensor:
        """Per-site law (..., D, N) of x_0 given x_t = x, from one score evaluation."""
        return self.process.denoise(x, self.score(x, t), self.schedule.total(t))

    @property
    def n_symbols(self) -> int:
        """Values of a clean site: N, or N - 1 where one of the states is the mask."""
        return getattr(self.process, "mask", self.n_states)

    def relaxed_score(self, weights: Tensor, t: float) -> Tensor:
        """Score (B, D, N), up to a factor per site, of weights (B, D, N) over symbols, with its
        gradient: that of the symbols where weights are one-hot.

        Raises:
            ValueError: the prior's score is not a function of weights.
        """
        raise ValueError(f"a {type(self).__name__} has no gradient; CG and TDS need a ScorePrior")

    def relaxed_clean(self, weights: Tensor, t: float) -> Tensor:
        """Law (B, D, N) of x_0 given x_t as a smooth function of one-hot weights (B, D, N).

        sum_u weights[i, u] p(x_0,i | own symbol u, score at the weights): how a site's own symbol
        speaks for its clean one is exact, how it speaks for others is the network's.
        """
        score = self.relaxed_score(weights, t)
        noise, law = self.schedule.total(t), torch.zeros_like(score)
        for symbol in range(self.n_states):
            own = torch.full(score.shape[:-1], symbol, device=score.device)
            # Ratios that are 0 here belong to symbols that this site cannot have had.
            scale = torch.where(score > 0, score, 1.0)[..., symbol, None]
            here = self.process.denoise(own, score / scale, noise)
            law = law + weights[..., symbol, None] * here
        return law

    def noise(self, n_chains: int, generator: torch.Generator) -> Tensor:
        """States (n_chains, D) of the law at infinite noise: uniform, or masks."""
        return self.process.sample_limit(
            n_chains, self.length, generator=generator, device=generator.device
        )

    def reverse_steps(self, times: Sequence[float]) -> Sequence[Transition]:
        """One-step moves of the unconditional sampler, from each time to the next."""
        return [Stepper(self, times[k : k + 2], denoise=False) for k in range(len(times) - 1)]

    def denoisers(self, times: Sequence[float], n_steps: int) -> Sequence[Transition]:
        """Partial reverse diffusion to a clean state from each of ``times``.

        ``n_steps`` reverse steps on a linear grid from t to ``CLEAN``, then one denoising draw
        there; with ``n_steps = 0``, or t below ``CLEAN``, one denoising draw at t.
        """
        return [Stepper(self, clean_grid(t, n_steps), denoise=True) for t in times]


ReverseStep = Callable[[Prior, Tensor, Tensor, float, float], Tensor]


def euler(prior: Prior, x: Tensor, score: Tensor, t: float, s: float) -> Tensor:
    """Jumps with probability (t-s) times the reverse rate; the rest, clamped at 0, stays."""
    return prior.process.euler_step(x, score, prior.schedule.rate(t), t - s)


def analytic(prior: Prior, x: Tensor, score: Tensor, t: float, s: float) -> Tensor:
    """The step of SEDD: exact for one site and for product laws."""
    return prior.process.analytic_step(x, score, prior.schedule.integral(s, t))


def clean_grid(t: float, n_steps: int) -> list[float]:
    """t, ..., CLEAN in ``n_steps`` equal steps; just t where there is nothing to step."""
    if n_steps == 0 or t <= CLEAN:
        return [t]
    return [t - (t - CLEAN) * i / n_steps for i in range(n_steps)] + [CLEAN]


def counted(times: Sequence[float]) -> int:
    """Score evaluations of the steps along ``times``; the denoising draw behind them is free."""
    return max(1, len(times) - 1)


class Stepper:
    """Reverse steps along ``times``, one score evaluation each, and the denoising draw at the end.

    Works for every prior; all sites move at once in every step.
    """

    def __init__(self, prior: Prior, times: Sequence[float], denoise: bool) -> None:
        self.prior, self.times, self.denoise = prior, list(times), denoise
        self.network_calls = len(self.times) - 1 + int(denoise)
        self.counted_calls = counted(self.times)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        for t, s in pairwise(self.times):
            x = sample_categorical(self.prior.step_probabilities(x, t, s), generator)
        if self.denoise:
            law = self.prior.clean_probabilities(x, self.times[-1])
            x = sample_categorical(law, generator)
        return x

    def several(self, x: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """``count`` independent moves (..., count, D) of each state, one step without a denoising
        draw: from one score evaluation a state, however many they are.
        """
        t, s = self.times
        law = self.prior.step_probabilities(x, t, s)[..., None, :, :]
        return sample_categorical(law.expand(*x.shape[:-1], count, -1, -1), generator)


class ScorePrior(Prior):
    """A prior given by any function ``score(x, t)`` (ratios, not their logarithms).

    Args:
        score_function: states (B, D), ``long``, and a time -> (B, D, N), in any floating type;
            the rest of the arithmetic is float32 at least. A module, such as a network, becomes
            part of the prior. States with more leading dimensions are flattened for it. For
            guidance by gradients it also takes weights (B, D, N) over symbols.
        process: see :class:`Prior`.
        length: likewise.
        max_batch: states per call; larger batches are split. None: all at once.
        gradient: record a graph for automatic differentiation.

    Raises:
        ValueError: (when sampling) scores that are NaN, infinite or negative, or of another shape.
    """

    output = "score"

    def __init__(
        self,
        score_function: Callable[[Tensor, float], Tensor],
        process: SiteProcess,
        length: int,
        max_batch: int | None = None,
        gradient: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(process, length, **options)
        self.score_function = score_function
        self.max_batch, self.gradient = max_batch, gradient

    def score(self, x: Tensor, t: float) -> Tensor:
        flat = x.reshape(-1, self.length).long()
        with torch.set_grad_enabled(self.gradient):
            return self._in_parts(flat, t).view(*x.shape, self.n_states)

    def relaxed_score(self, weights: Tensor, t: float) -> Tensor:
        return self._in_parts(weights, t)

    def _in_parts(self, x: Tensor, t: float) -> Tensor:
        parts = [self._checked(part, t) for part in x.split(self.max_batch or len(x))]
        return torch.cat(parts)

    def _checked(self, x: Tensor, t: float) -> Tensor:
        score = self.score_function(x, t)
        if score.shape != (*x.shape[:2], self.n_states):
            raise ValueError(
                f"the {self.output} of {tuple(x.shape[:2])} states has shape {tuple(score.shape)}; "
                f"(B, D, N) with N = {self.n_states} is needed"
            )
        score = score if score.dtype == torch.float64 else score.float()
        require(
            (score >= 0) & (score < torch.inf),
            f"the {self.output} at t = {t:.4g} has NaN, infinite or negative entries: give it, "
            "not its logarithm",
        )
        return score


class DenoiserPrior(ScorePrior):
    """A prior given by the law of the clean symbols, ``clean(x, t)`` -> (B, D, N).

    The score is E over x_0 of P(x with v | x_0) / P(x | x_0), site by site. For masked models
    N = V + 1 and the last entry, the mask's, is 0.
    """

    output = "clean law"

    def _checked(self, x: Tensor, t: float) -> Tensor:
        clean = super()._checked(x, t)
        return self.process.score(symbols_of(x), clean, self.schedule.total(t))
