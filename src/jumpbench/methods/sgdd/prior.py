"""Priors for posterior sampling: what a sampler may ask of a discrete diffusion model.

Time t is forward noise time: 0 clean, 1 noise; sigma(0) > 0 is tiny, and ``CLEAN`` is where the
steps end and one denoising draw removes the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor

from jumpbench.kernels.categorical import sample_categorical
from jumpbench.methods.sgdd.site_kernel import SiteKernel
from jumpbench.processes.schedules import Geometric, Schedule
from jumpbench.processes.uniform import UniformProcess

CLEAN = 1e-5


class Transition(Protocol):
    """A random move of a state (..., D); draws are independent over the leading dimensions."""

    network_calls: int

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor: ...


class Prior(ABC):
    """A uniform-kernel diffusion model: a score, and the reverse moves that it drives.

    Args:
        n_states, length: N and D; states are integers (..., D).
        schedule: accumulated noise sigma(t), by default sigma_min = 1e-4, sigma_max = 20.
        reverse_step: one reverse step, :func:`euler` (the paper) or :func:`analytic`.
    """

    def __init__(
        self,
        n_states: int,
        length: int,
        schedule: Schedule | None = None,
        reverse_step: "ReverseStep | None" = None,
    ) -> None:
        self.process = UniformProcess(n_states)
        self.n_states, self.length = n_states, length
        self.schedule = schedule or Geometric()
        self.reverse_step = reverse_step or euler

    @abstractmethod
    def score(self, x: Tensor, t: float) -> Tensor:
        """p_t(x with site i := v) / p_t(x), shape (..., D, N); 1 at the current symbol."""

    def step_probabilities(self, x: Tensor, t: float, s: float) -> Tensor:
        """Per-site law (..., D, N) of one reverse step from time t to s < t."""
        return self.reverse_step(self, x, self.score(x, t), t, s)

    def clean_probabilities(self, x: Tensor, t: float) -> Tensor:
        """Per-site law (..., D, N) of x_0 given x_t = x, from one score evaluation."""
        return self.process.denoise(x, self.score(x, t), self.schedule.total(t))

    def noise(self, n_chains: int, generator: torch.Generator) -> Tensor:
        """Uniform states (n_chains, D), the law at infinite noise."""
        return self.process.sample_limit(
            n_chains, self.length, generator=generator, device=generator.device
        )

    def reverse_steps(self, times: Sequence[float]) -> list[Transition]:
        """One-step moves of the unconditional sampler, from each time to the next."""
        return [Stepper(self, times[k : k + 2], denoise=False) for k in range(len(times) - 1)]

    def denoisers(self, times: Sequence[float], n_steps: int) -> list[Transition]:
        """Partial reverse diffusion to a clean state from each of ``times``.

        ``n_steps`` reverse steps on a linear grid from t to ``CLEAN``, then one denoising draw
        there; with ``n_steps = 0``, or t below ``CLEAN``, one denoising draw at t.
        """
        return [Stepper(self, clean_grid(t, n_steps), denoise=True) for t in times]


ReverseStep = Callable[[Prior, Tensor, Tensor, float, float], Tensor]


def euler(prior: Prior, x: Tensor, score: Tensor, t: float, s: float) -> Tensor:
    """Jumps with probability (t-s) sigma'(t)/N s(x,t)[i,v]; the rest, clamped at 0, stays."""
    return prior.process.euler_step(x, score, prior.schedule.rate(t), t - s)


def analytic(prior: Prior, x: Tensor, score: Tensor, t: float, s: float) -> Tensor:
    """The step of SEDD: exact for one site and for product laws."""
    return prior.process.analytic_step(x, score, prior.schedule.integral(s, t))


def clean_grid(t: float, n_steps: int) -> list[float]:
    """t, ..., CLEAN in ``n_steps`` equal steps; just t where there is nothing to step."""
    if n_steps == 0 or t <= CLEAN:
        return [t]
    return [t - (t - CLEAN) * i / n_steps for i in range(n_steps)] + [CLEAN]


class Stepper:
    """Reverse steps along ``times``, one score evaluation each, and the denoising draw at the end.

    Works for every prior; all sites move at once in every step.
    """

    def __init__(self, prior: Prior, times: Sequence[float], denoise: bool) -> None:
        self.prior, self.times, self.denoise = prior, list(times), denoise
        self.network_calls = len(self.times) - 1 + int(denoise)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        for t, s in pairwise(self.times):
            x = sample_categorical(self.prior.step_probabilities(x, t, s), generator)
        if self.denoise:
            law = self.prior.clean_probabilities(x, self.times[-1])
            x = sample_categorical(law, generator)
        return x


class ScorePrior(Prior):
    """A prior given by any function ``score(x, t)`` (ratios, not their logarithms).

    ``score_function`` takes states (B, D) and a time and returns (B, D, N); states with more
    leading dimensions are flattened for it.
    """

    def __init__(self, score_function: Callable, n_states: int, length: int, **options) -> None:
        super().__init__(n_states, length, **options)
        self.score_function = score_function

    def score(self, x: Tensor, t: float) -> Tensor:
        score = self.score_function(x.reshape(-1, self.length), t)
        return score.reshape(*x.shape, self.n_states)


class ProductPrior(Prior):
    """Independent sites with the law ``law`` (N,): everything is closed form, per site.

    p_t = e^-sigma law + (1 - e^-sigma)/N, and any number of reverse steps composes once into one
    N x N matrix, so a whole prior step is one categorical draw per site.

    Raises:
        ValueError: ``law`` is not a vector of positive numbers.
    """

    def __init__(self, law: Tensor | Sequence[float], length: int, **options) -> None:
        law = torch.as_tensor(law, dtype=torch.float64)
        if law.ndim != 1 or not bool((law > 0).all()):
            raise ValueError("the law of a product prior is a vector (N,) of positive numbers")
        super().__init__(law.numel(), length, **options)
        self.law = law / law.sum()

    def score(self, x: Tensor, t: float) -> Tensor:
        marginal = self.process.propagate(self.law[None], self.schedule.total(t))[0].to(x.device)
        return marginal / marginal[x.long()][..., None]

    def noise(self, n_chains: int, generator: torch.Generator) -> Tensor:
        return super().noise(n_chains, generator).to(torch.int32)

    def _symbols(self) -> Tensor:
        return torch.arange(self.n_states)[:, None]

    def step_matrix(self, t: float, s: float) -> Tensor:
        """One reverse step of one site as a matrix (N, N), row = from."""
        return self.step_probabilities(self._symbols(), t, s)[:, 0]

    def clean_matrix(self, times: Sequence[float]) -> Tensor:
        """Reverse steps along ``times`` and the denoising draw, composed: (N, N)."""
        matrix = self.clean_probabilities(self._symbols(), times[-1])[:, 0]
        for t, s in reversed(list(pairwise(times))):
            matrix = self.step_matrix(t, s) @ matrix
        return matrix

    def reverse_steps(self, times: Sequence[float]) -> list[Transition]:
        matrices = torch.stack([self.step_matrix(t, s) for t, s in pairwise(times)])
        return SiteKernel.stack(matrices, network_calls=1)

    def denoisers(self, times: Sequence[float], n_steps: int) -> list[Transition]:
        grids = [clean_grid(t, n_steps) for t in times]
        matrices = torch.stack([self.clean_matrix(grid) for grid in grids])
        calls = [len(grid) for grid in grids]
        return SiteKernel.stack(matrices, network_calls=calls)
