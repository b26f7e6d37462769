"""A neural network's energy as an unnormalised law."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.targets.base import Target, generic_neighbor_log_ratios


class EnergyNetwork(Target):
    """log nu(x) = -E(x) of a module E: (..., D) -> (...), whose parameters stay as they are.

    No gradient is kept. Neighbour ratios come from ``energy.neighbor_differences`` where there is
    one, else from D (N - 1) energies a state.

    Args:
        energy: the module; moved with :meth:`to`, in place.
        length: D, by default the module's own.
        n_states: N, likewise.

    Raises:
        UserError: no sizes are known.
    """

    def __init__(
        self, energy: nn.Module, length: int | None = None, n_states: int | None = None
    ) -> None:
        length = length or getattr(energy, "length", None)
        n_states = n_states or getattr(energy, "n_states", None)
        if length is None or n_states is None:
            raise UserError(
                f"{type(energy).__name__} does not say its length and n_states: give both to "
                "EnergyNetwork"
            )
        super().__init__(length, n_states)
        self.module = energy

    def to(self, device: torch.device | str) -> "EnergyNetwork":
        self.module.to(device)
        return self

    @torch.no_grad()
    def log_prob(self, x: Tensor) -> Tensor:
        return -self.module(x)

    @torch.no_grad()
    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        fast = getattr(self.module, "neighbor_differences", None)
        if fast is None:
            return generic_neighbor_log_ratios(self.log_prob, x, self.n_states)
        return -fast(x)


class TaylorRatios(EnergyNetwork):
    """Ratios to first order, from one gradient with respect to the one-hot state (Figure 9).

    r[i, n] = g[i, n] - g[i, x_i], g = -dE/dx; biased, and used for that comparison alone. A table
    asks for the energy and one gradient at the state and for no neighbour.

    Args:
        energy: must also take one-hot states: ``energy.of_one_hot(z)``, (B, D, N) -> (B,).
    """

    table_evaluations = 2
    exact_ratios = False

    def __init__(self, energy: nn.Module, one_hot: Callable[[Tensor], Tensor] | None = None):
        super().__init__(energy)
        self.one_hot: Callable[[Tensor], Tensor] = one_hot or cast(Any, energy).of_one_hot

    def neighbor_log_ratios(self, x: Tensor) -> Tensor:
        # Also where a trainer has switched gradients off.
        with torch.inference_mode(False), torch.enable_grad():
            z = torch.nn.functional.one_hot(x.long(), self.n_states).float().requires_grad_(True)
            (gradient,) = torch.autograd.grad(-self.one_hot(z).sum(), z)
        return gradient - gradient.gather(-1, x.long().unsqueeze(-1))
