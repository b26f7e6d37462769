"""Points of the plane as bits, two numbers of 16 bits each: a sign and a Gray code.

A coordinate v becomes its sign (0 for v >= 0), then the Gray code m xor (m >> 1) of
m = floor(|v| int_scale), highest bit first. Neighbouring integers differ in one bit within a sign
half.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.errors import UserError


@dataclass(frozen=True)
class GrayCode:
    """The code of one scale.

    Attributes:
        f_scale: largest coordinate that can be coded, less one.
        bits: per coordinate, sign included.
    """

    f_scale: float
    bits: int = 16

    @property
    def int_scale(self) -> float:
        """Integers per unit length."""
        return 2 ** (self.bits - 1) / (self.f_scale + 1)

    def encode(self, points: Tensor) -> Tensor:
        """Points (..., k) to bits (..., k * bits) long.

        Raises:
            UserError: a coordinate is not finite, or too large for the scale.
        """
        integer = (points.double().abs() * self.int_scale).long()
        if not points.isfinite().all() or (integer >= 2 ** (self.bits - 1)).any():
            raise UserError(
                f"points must be finite and within {self.f_scale + 1:g} of the axes: enlarge "
                "f_scale"
            )
        gray = integer ^ (integer >> 1)
        shifts = torch.arange(self.bits - 2, -1, -1, device=points.device)
        magnitude = gray.unsqueeze(-1) >> shifts & 1
        return torch.cat(((points < 0).long().unsqueeze(-1), magnitude), -1).flatten(-2)

    def decode(self, states: Tensor) -> Tensor:
        """Bits (..., k * bits) to points (..., k), float64, towards zero by less than a quantum."""
        states = states.long().unflatten(-1, (-1, self.bits))
        # Bit j of the integer is the exclusive or of the Gray bits from the top down to j.
        binary = states[..., 1:].cumsum(-1) % 2
        weights = 2 ** torch.arange(self.bits - 2, -1, -1, device=states.device)
        magnitude = (binary * weights).sum(-1).double() / self.int_scale
        return torch.where(states[..., 0] == 1, -magnitude, magnitude)
