"""Exact thermodynamics of the Ising torus of any size (Kaufman)."""

import math
from dataclasses import dataclass
from functools import reduce
from operator import mul

import torch
from torch import Tensor

from jumpbench.errors import UserError


@dataclass(frozen=True)
class IsingTorus:
    """Thermodynamics of a finite Ising torus: log Z, mean and standard deviation of E."""

    log_z: float
    mean_energy: float
    std_energy: float


def ising_torus(size: int, beta: float, coupling: float = 1.0) -> IsingTorus:
    r"""Kaufman's closed form for the L x L torus without field (Phys. Rev. 76, 1232, 1949).

    With K = beta J, cosh g_q = cosh 2K coth 2K - cos(pi q / L) and g_0 = 2K + log tanh K,

        Z = (2 sinh 2K)^(L^2/2) / 2 * sum of the products over r < L of
            2 cosh(L g/2) and of 2 sinh(L g/2), once with g = g_{2r+1} and once with g = g_{2r}.

    Energies are the first two derivatives of log Z in K, taken by automatic differentiation in
    float64. Each product is scaled by its largest exponential, so nothing overflows, and the zero
    of sinh at the critical point does no harm.

    Raises:
        UserError: ``size < 3`` or ``beta * coupling <= 0``.
    """
    if size < 3 or not beta * coupling > 0:
        raise UserError(
            f"Kaufman's formula needs size >= 3 and beta * coupling > 0, not {size} and "
            f"{beta * coupling}"
        )
    k = torch.tensor(beta * coupling, dtype=torch.float64, requires_grad=True)
    wave = torch.arange(2 * size, dtype=torch.float64)
    arguments = torch.cosh(2 * k) / torch.tanh(2 * k) - torch.cos(torch.pi * wave / size)
    zero = (2 * k + torch.tanh(k).log()).unsqueeze(0)
    gamma = torch.cat((zero, torch.acosh(arguments[1:])))

    def scaled_sum(g: Tensor) -> tuple[Tensor, Tensor]:
        decay = torch.exp(-size * g).unbind()
        # Not torch.prod: its second derivative is wrong where a factor is 0 (the critical point).
        return size * g.sum() / 2, _product([1 + d for d in decay]) + _product(
            [1 - d for d in decay]
        )

    odd_scale, odd = scaled_sum(gamma[1::2])
    even_scale, even = scaled_sum(gamma[0::2])
    log_z = (
        size**2 / 2 * torch.log(2 * torch.sinh(2 * k))
        - math.log(2)
        + odd_scale
        + torch.log(odd + torch.exp(even_scale - odd_scale) * even)
    )
    (first,) = torch.autograd.grad(log_z, k, create_graph=True)
    (second,) = torch.autograd.grad(first, k)
    return IsingTorus(
        log_z.item(), -coupling * first.item(), abs(coupling) * math.sqrt(second.item())
    )


def _product(factors: list[Tensor]) -> Tensor:
    return reduce(mul, factors)
