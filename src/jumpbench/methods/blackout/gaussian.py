"""The Gaussian diffusion that Blackout's Figures 1, 2 and 5 are drawn beside.

Variance preserving with the cosine schedule (Nichol and Dhariwal 2021), states in [-1, 1]. The
paper names it for Figure 2 alone; nothing is trained on it.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from jumpbench.errors import UserError


class CosineDiffusion:
    """X_k = sqrt(a_k) X_0 + sqrt(1 - a_k) N(0, 1), k = 0..T.

    a_k is the product of 1 - beta_j, j <= k, with 1 - beta_j = c(j / T) / c((j - 1) / T), c(s) =
    cos^2(pi / 2 (s + 0.008) / 1.008) and beta at most 0.999.

    Attributes:
        signal: (T + 1,) float64, a_k.
        beta: (T + 1,), beta_0 = 0.
    """

    def __init__(self, steps: int = 1000) -> None:
        if steps < 2:
            raise UserError(f"steps={steps}: a diffusion needs at least two")
        self.steps = steps
        share = torch.arange(steps + 1, dtype=torch.float64) / steps
        cosine = ((share + 0.008) / 1.008 * math.pi / 2).cos().square()
        beta = 1 - cosine[1:] / cosine[:-1]
        self.beta = torch.cat([beta.new_zeros(1), beta.clamp(max=0.999)])
        self.signal = (1 - self.beta).cumprod(0)

    def noised(self, x: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
        """Draws of X_k for states x at k = 0."""
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        return float(self.signal[k].sqrt()) * x + float((1 - self.signal[k]).sqrt()) * noise

    def back(
        self, x: Tensor, start: Tensor, k: int, generator: torch.Generator | None = None
    ) -> Tensor:
        """Draws of X_(k-1) given X_k = x and X_0 = start; the latter's mean makes it a sampler."""
        before, now = self.signal[k - 1], self.signal[k]
        mean = before.sqrt() * self.beta[k] * start + (1 - self.beta[k]).sqrt() * (1 - before) * x
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        spread = (self.beta[k] * (1 - before) / (1 - now)).sqrt()
        return mean / (1 - now) + spread * noise


class DequantisedLaw:
    """A law on 0..M, spread over [m, m + 1) each and mapped to [-1, 1], under the diffusion."""

    def __init__(self, law: Sequence[float] | Tensor, diffusion: CosineDiffusion) -> None:
        self.law = torch.as_tensor(law, dtype=torch.float64)
        self.diffusion = diffusion
        self.edges = torch.linspace(-1, 1, len(self.law) + 1, dtype=torch.float64)

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """States (count,) at k = 0."""
        value = torch.multinomial(self.law, count, replacement=True, generator=generator)
        value = value + torch.rand(count, generator=generator, dtype=torch.float64)
        return 2 * value / len(self.law) - 1

    def density(self, x: Tensor, k: int) -> Tensor:
        """Of X_k at x, k >= 1: a uniform piece convolved with a Gaussian for every count."""
        return self._pieces(x, k)[0]

    def start(self, x: Tensor, k: int) -> Tensor:
        """E[X_0 | X_k = x] by Tweedie's formula, (x + (1 - a) score) / sqrt(a)."""
        density, slope = self._pieces(x, k)
        signal = self.diffusion.signal[k]
        score = slope / density.clamp(min=1e-300)
        return ((x + (1 - signal) * score) / signal.sqrt()).clamp(-1, 1)

    def _pieces(self, x: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Density of X_k and its derivative."""
        scale, spread = self.diffusion.signal[k].sqrt(), (1 - self.diffusion.signal[k]).sqrt()
        at = (x.unsqueeze(-1) - scale * self.edges) / spread
        below = torch.special.ndtr(at)
        bell = torch.exp(-at.square() / 2) / (math.sqrt(2 * math.pi) * spread)
        width = scale * 2 / len(self.law)
        weights = self.law / width
        return -(below.diff(dim=-1) @ weights), -(bell.diff(dim=-1) @ weights)
