"""The network of Blackout: counts and the index of their time in, expected units lost out."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from jumpbench.errors import UserError
from jumpbench.methods.blackout.losses import regression
from jumpbench.processes.observation_times import ObservationTimes


class LostUnits(nn.Module):
    """y = E[X_0 - X_t | X_t] as s softplus(z), z = network(input, k - 1), s = ``output_scale``.

    The input is (x - (M / 2) q_k) / input_scale: the decayed mid-grey is taken away, as the
    published code does (the paper does not say). With ``output_by_time``, which is ours, y =
    s (1 - q_k) softplus(z): what a unit loses on average by t_k is known and need not be learned.
    The loss as a function of y, and so its minimiser, stay what they are. Nothing depends on
    1 / (1 - q_k), which explodes.

    Args:
        network: inputs (B, ...) and indices k - 1 (B,) -> raw outputs (B, ...).
        grid: observation times.
        maximum: M.
        input_scale: 1 as published; M / 2 and more suit small networks.
        output_scale: likewise. By time, mean count / log 2 starts y (z = 0) at the mean of what is
            lost.
        output_by_time: see above.
    """

    shift: Tensor
    share: Tensor

    def __init__(
        self,
        network: nn.Module,
        grid: ObservationTimes,
        maximum: int,
        input_scale: float = 1.0,
        output_scale: float = 1.0,
        output_by_time: bool = False,
    ) -> None:
        super().__init__()
        self.network = network
        self.input_scale, self.output_scale = input_scale, output_scale
        shift = (maximum / 2 * grid.survival).float()
        self.register_buffer("shift", shift, persistent=False)
        share = grid.loss if output_by_time else torch.ones_like(grid.loss)
        self.register_buffer("share", share.float(), persistent=False)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the network in place: training calls it by :meth:`loss`, not by ``forward``."""
        self.network.compile(*args, **kwargs)

    def raw(self, x: Tensor, k: Tensor) -> Tensor:
        """The network's output before the softplus, float32, for x (B, ...) and k (B,) in 1..T.

        Raises:
            UserError: the output has another shape than x.
        """
        shift = self.shift[k].view(-1, *[1] * (x.ndim - 1))
        z = self.network((x.float() - shift) / self.input_scale, k - 1)
        if z.shape != x.shape:
            raise UserError(
                f"network {type(self.network).__name__} must give one number for every count: "
                f"{tuple(x.shape)}, not {tuple(z.shape)}"
            )
        return z.float()

    def forward(self, x: Tensor, k: Tensor) -> Tensor:
        share = self.share[k].view(-1, *[1] * (x.ndim - 1))
        return self.output_scale * share * softplus(self.raw(x, k))

    def loss(self, start: Tensor, x: Tensor, k: Tensor) -> Tensor:
        """Mean over sites of y - D log y, D = X_0 - X_t, per image (B,).

        In units of ``output_scale`` and without D log(y / softplus(z)), on which no weight acts.
        """
        return regression(self.raw(x, k), (start - x) / self.output_scale, self.share[k])

    def at(self, x: Tensor, k: int) -> Tensor:
        """As a sampler asks: one time for the whole batch."""
        return self(x, torch.full((len(x),), k, device=x.device))
