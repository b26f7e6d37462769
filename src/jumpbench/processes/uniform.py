"""The uniform process on {0..N-1}^D: noise replaces a symbol by one drawn uniformly."""

import torch
from torch import Tensor

from jumpbench.ops.precision import at_least_single
from jumpbench.processes.base import Device, SiteProcess, is_symbol, normalise, per_symbol
from jumpbench.processes.schedules import as_tensor


class UniformProcess(SiteProcess):
    """Generator sigma'(t) (11^T / N - I) per site (SGDD sec. 2; DASBS sec. 2).

    A site leaves its symbol at rate sigma' (N-1)/N. Over accumulated noise s it stays with
    probability e^-s + (1 - e^-s)/N and becomes one given other symbol with probability
    (1 - e^-s)/N. The kernel is symmetric. All functions take infinite noise.
    """

    def __init__(self, n_states: int) -> None:
        if n_states < 2:
            raise ValueError(f"n_states is {n_states}; a process needs at least 2 symbols")
        self.n_states = n_states

    def move_probability(self, noise: Tensor | float) -> Tensor:
        """(1 - e^-s) / N, the probability of one given other symbol."""
        return -torch.expm1(-as_tensor(noise)) / self.n_states

    def change_probability(self, noise: Tensor | float) -> Tensor:
        """beta(s) = (N-1)/N (1 - e^-s), the probability that a site differs afterwards."""
        return (self.n_states - 1) * self.move_probability(noise)

    def transition(
        self, x: Tensor, noise: Tensor | float, dtype: torch.dtype | None = None
    ) -> Tensor:
        move = self.move_probability(per_symbol(noise, dtype, x.device))
        return torch.where(is_symbol(x, self.n_states), 1 - (self.n_states - 1) * move, move)

    def log_transition(
        self, x: Tensor, noise: Tensor | float, dtype: torch.dtype | None = None
    ) -> Tensor:
        """log P(v | x_i), shape (..., D, N), accurate for small and for large noise."""
        noise = per_symbol(noise, dtype, x.device)
        log_move = self.move_probability(noise).log()
        log_stay = torch.log1p(-self.change_probability(noise))
        return torch.where(is_symbol(x, self.n_states), log_stay, log_move)

    # The kernel is symmetric.
    likelihood = transition

    def rates(self, x: Tensor, rate: Tensor | float, dtype: torch.dtype | None = None) -> Tensor:
        rate = per_symbol(rate, dtype, x.device) / self.n_states
        return torch.where(is_symbol(x, self.n_states), torch.zeros_like(rate), rate)

    def reverse_rates(self, x: Tensor, score: Tensor, rate: Tensor | float) -> Tensor:
        return score * self.rates(x, rate, at_least_single(score).dtype)

    def analytic_step(self, x: Tensor, score: Tensor, noise: Tensor | float) -> Tensor:
        """Weights (s_v - (1 - e^-D)/N sum_u s_u) P_D(x_i | v), clamped at 0 and normalised.

        D is ``noise``. The score is pulled back over the interval by the inverse kernel, up to
        the factor e^D (SEDD; SGDD sec. 4.4). Exact for one site and for product laws. The
        score's entry at the current symbol must be 1.

        Computed as s_v - mean s + e^-D mean s: at large D only the differences of the score's
        entries speak. Where the score's own rounding is not small beside e^-D (in
        float32, D above about 9), that rounding is added as a weight for every symbol: a law that
        the score cannot tell, above D about 16, becomes the uniform one and not 0/0.
        """
        score = at_least_single(score)
        resolution = torch.finfo(score.dtype).eps
        mean = score.mean(-1, keepdim=True, dtype=torch.float64).to(score.dtype)
        decay = torch.exp(-per_symbol(noise, score.dtype, score.device))
        rounding = torch.where(decay < 1024 * resolution, resolution * mean, 0.0)
        pulled = (score - mean).add_(decay * mean).clamp_(min=0).add_(rounding)
        return normalise(pulled * self.likelihood(x, noise, score.dtype))

    def propagate(self, law: Tensor, noise: Tensor | float) -> Tensor:
        law = at_least_single(law)
        move = self.move_probability(per_symbol(noise, law.dtype, law.device))
        return (1 - self.n_states * move) * law + move * law.sum(-1, keepdim=True)

    def sample(
        self, x: Tensor, noise: Tensor | float, generator: torch.Generator | None = None
    ) -> Tensor:
        """States (..., D) after ``noise``: each site is drawn anew with probability 1 - e^-s."""
        renew = -torch.expm1(-as_tensor(noise).to(x.device))[..., None]
        u = torch.rand(x.shape, generator=generator, device=x.device)
        fresh = torch.randint(
            self.n_states, x.shape, generator=generator, device=x.device, dtype=x.dtype
        )
        return torch.where(u < renew, fresh, x)

    def sample_limit(
        self, *shape: int, generator: torch.Generator | None = None, device: Device = None
    ) -> Tensor:
        return torch.randint(self.n_states, shape, generator=generator, device=device)
