"""The absorbing process: noise replaces a symbol by a mask, which stays."""

import torch
from torch import Tensor

from jumpbench.ops.precision import at_least_single
from jumpbench.processes.base import SiteProcess, is_symbol, normalise, per_symbol


class MaskedProcess(SiteProcess):
    """Symbols 0..V-1 turn into the mask V at rate sigma'(t); the mask never leaves.

    A symbol survives accumulated noise s with probability e^-s. Here N = V + 1: probabilities,
    rates and scores have a last entry for the mask, 0 in laws of clean states.

    Attributes:
        mask: the mask's value, V.
    """

    def __init__(self, n_symbols: int) -> None:
        if n_symbols < 1:
            raise ValueError(f"n_symbols is {n_symbols}; a process needs at least 1 symbol")
        self.mask = n_symbols
        self.n_states = n_symbols + 1

    def transition(
        self, x: Tensor, noise: Tensor | float, dtype: torch.dtype | None = None
    ) -> Tensor:
        noise = per_symbol(noise, dtype, x.device)
        here = is_symbol(x, self.n_states)
        is_mask = torch.arange(self.n_states, device=x.device) == self.mask
        keep, lose = torch.exp(-noise), -torch.expm1(-noise)
        # At a masked site both terms fall on the mask and add up to one.
        return torch.where(here, keep, 0.0) + torch.where(is_mask, lose, 0.0)

    def likelihood(
        self, x: Tensor, noise: Tensor | float, dtype: torch.dtype | None = None
    ) -> Tensor:
        noise = per_symbol(noise, dtype, x.device)
        here = is_symbol(x, self.n_states)
        masked = (x == self.mask)[..., None]
        keep, lose = torch.exp(-noise), -torch.expm1(-noise)
        return torch.where(here, keep, 0.0) + torch.where(masked, lose, 0.0)

    def rates(self, x: Tensor, rate: Tensor | float, dtype: torch.dtype | None = None) -> Tensor:
        to_mask = torch.arange(self.n_states, device=x.device) == self.mask
        moves = to_mask & (x != self.mask)[..., None]
        return torch.where(moves, per_symbol(rate, dtype, x.device), 0.0)

    def reverse_rates(self, x: Tensor, score: Tensor, rate: Tensor | float) -> Tensor:
        score = at_least_single(score)
        moves = (x == self.mask)[..., None] & ~is_symbol(x, self.n_states)
        return torch.where(moves, score * per_symbol(rate, score.dtype, score.device), 0.0)

    def analytic_step(self, x: Tensor, score: Tensor, noise: Tensor | float) -> Tensor:
        """Symbols stay; a mask becomes v with weight s_v (1 - e^-D), and stays with the rest.

        D is ``noise``; the rest is e^-D - (1 - e^-D) sum_v s_v, clamped at 0 (SEDD).
        """
        score = at_least_single(score)
        noise = per_symbol(noise, score.dtype, score.device)
        here, masked = is_symbol(x, self.n_states), (x == self.mask)[..., None]
        unmask = torch.where(here, 0.0, score * -torch.expm1(-noise))
        stay = torch.exp(-noise) - unmask.sum(-1, keepdim=True)
        return torch.where(masked, normalise(torch.where(here, stay, unmask)), here.to(score.dtype))

    def denoise(self, x: Tensor, score: Tensor, noise: Tensor | float) -> Tensor:
        """Per-site law of the clean state: symbols stay, a mask becomes v in proportion to s_v.

        The same for every noise; the mask itself has probability exactly 0.
        """
        score = at_least_single(score)
        here, masked = is_symbol(x, self.n_states), (x == self.mask)[..., None]
        law = normalise(torch.where(here & masked, 0.0, score))
        return torch.where(masked, law, here.to(score.dtype))

    def sample_limit(
        self,
        *shape: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Tensor:
        return torch.full(shape, self.mask, device=device)
