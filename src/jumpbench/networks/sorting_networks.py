"""Differentiable sorting networks: fixed comparators, each a soft or a straight-through swap.

A network is a list of layers. In a layer every wire meets at most one other; of the two, one
receives the (soft) minimum and the other the maximum. Ascending order, wire 0 smallest.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

Comparators = list[list[tuple[int, int]]]  # layers of (wire of the minimum, wire of the maximum)


def odd_even(n: int) -> Comparators:
    """Odd-even transposition sort: n layers, layer l compares (i, i+1) for i of l's parity."""
    return [[(i, i + 1) for i in range(layer % 2, n - 1, 2)] for layer in range(n)]


def bitonic(n: int) -> Comparators:
    """Batcher's bitonic sort on the next power of two, O(log^2 n) layers, for any n >= 2.

    The padding takes the lowest wires; comparators that would touch it are left out and the
    others renumbered. This still sorts (the tests check all 0-1 inputs up to n = 12).
    """
    blocks = math.ceil(math.log2(n))
    padding = 2**blocks - n
    layers = []
    for block in range(blocks):
        for distance in (2**k for k in range(block, -1, -1)):
            layer = []
            for low in range(padding, 2**blocks - distance):
                if low & distance:
                    continue
                pair = (low - padding, low + distance - padding)
                descending = (low >> (block + 1)) & 1
                layer.append(pair[::-1] if descending else pair)
            layers.append(layer)
    return layers


def optimal_sigmoid(x: Tensor) -> Tensor:
    """Monotone sigmoid of smallest error (Petersen et al. 2022).

    x + 1/2 for |x| <= 1/4; beyond, 1 - 1/(16 x) to the right and 1/(16 |x|) to the left.
    """
    tail = 1 / (16 * x.abs().clamp(min=0.25))
    return torch.where(x.abs() <= 0.25, x + 0.5, torch.where(x > 0, 1 - tail, tail))


def cauchy_sigmoid(x: Tensor) -> Tensor:
    """Distribution function of the Cauchy law, 1/2 + atan(x) / pi."""
    return 0.5 + x.atan() / math.pi


def logistic_sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)). Not monotone as a soft swap: min(a, b) can fall as b - a grows."""
    return x.sigmoid()


class SoftSortingNetwork(nn.Module):
    """Sort scores (B, n) softly and say how the order was mixed.

    For a comparator with inputs a, b: alpha = sigmoid(steepness (b - a)), minimum = alpha a +
    (1 - alpha) b, maximum = (1 - alpha) a + alpha b. The same mixing acts on the rows of P,
    which starts as the identity. With ``error_free`` the values of every comparator are the true
    minimum and maximum (and P a true permutation matrix), while gradients are those of the soft
    comparator at these values (Kim et al. 2024).

    Args:
        n: wires.
        steepness: factor on differences; the network sorts exactly as it goes to infinity.
        comparators: :func:`odd_even`, :func:`bitonic`, or any function n -> layers.
        sigmoid: monotone function with f(x) + f(-x) = 1.
        error_free: hard forward, soft backward.
    """

    partner: Tensor
    side: Tensor

    def __init__(
        self,
        n: int,
        steepness: float,
        comparators: Callable[[int], Comparators] = odd_even,
        sigmoid: Callable[[Tensor], Tensor] = cauchy_sigmoid,
        error_free: bool = False,
    ) -> None:
        super().__init__()
        if n < 2 or not steepness > 0:
            raise ValueError(f"n is {n}, steepness {steepness}: need n >= 2 and steepness > 0")
        layers = comparators(n)
        partner = torch.arange(n).repeat(len(layers), 1)  # an idle wire meets itself
        side = torch.ones(len(layers), n)
        for row, layer in enumerate(layers):
            for low, high in layer:
                partner[row, low], partner[row, high], side[row, high] = high, low, -1.0
        self.register_buffer("partner", partner, persistent=False)
        self.register_buffer("side", side, persistent=False)
        self.steepness, self.sigmoid, self.error_free = steepness, sigmoid, error_free

    def forward(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Sorted scores (B, n) and P (B, n, n), P[i, j] the weight of input j at place i.

        Rows and columns of P sum to one.
        """
        batch, n = scores.shape
        mixing = torch.eye(n, dtype=scores.dtype, device=scores.device).expand(batch, n, n)
        for partner, side in zip(self.partner, self.side, strict=True):
            other, other_rows = scores[:, partner], mixing[:, partner]
            # b - a seen from both ends of the comparator: one alpha, so a wire keeps alpha of
            # itself and takes 1 - alpha of its partner whichever end it is
            gap = side * (other - scores)
            keep = self.sigmoid(self.steepness * gap)
            soft = _mix(keep, scores, other)
            soft_rows = _mix(keep[..., None], mixing, other_rows)
            if self.error_free:
                stay = (gap >= 0).to(scores.dtype)
                scores = _straight_through(_mix(stay, scores, other), soft)
                mixing = _straight_through(_mix(stay[..., None], mixing, other_rows), soft_rows)
            else:
                scores, mixing = soft, soft_rows
        return scores, mixing


def _mix(keep: Tensor, own: Tensor, other: Tensor) -> Tensor:
    return keep * own + (1 - keep) * other


def _straight_through(value: Tensor, gradient: Tensor) -> Tensor:
    """Exactly ``value`` forwards (x - x is 0), the gradient of ``gradient`` backwards."""
    return value.detach() + (gradient - gradient.detach())
