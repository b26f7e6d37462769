"""Exact values of Ising tori with a field, row by row: what Kaufman's formula lacks."""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.enumeration import all_states
from jumpbench.targets.ising import Ising

LARGEST_SIZE = 10


@dataclass(frozen=True)
class TorusWithField:
    """``log_z``, mean and standard deviation of log rho, and the mean spin of every site."""

    log_z: float
    mean_log_prob: float
    std_log_prob: float
    mean_spin: float


def torus_with_field(target: Ising) -> TorusWithField:
    """log Z = log tr T^L, T[s, s'] = exp( (e(s) + e(s')) / 2 + K s.s' ) between rows s and s'.

    e(s) = K sum s_j s_{j+1} + b sum s_j. K = beta J, b = beta h; derivatives by automatic
    differentiation in float64. Powers of T are rescaled, so that nothing overflows.

    Raises:
        UserError: a torus larger than 10 x 10 (T would have more than 1024^2 entries).
    """
    if target.size > LARGEST_SIZE:
        raise UserError(
            f"rows of {target.size} spins are too long for a transfer matrix (at most "
            f"{LARGEST_SIZE})"
        )
    # Also where a trainer has switched gradients off.
    with torch.inference_mode(False), torch.enable_grad():
        one = torch.ones((), dtype=torch.float64, requires_grad=True)
        field = torch.tensor(target.beta * target.external_field, dtype=torch.float64)
        field.requires_grad_(True)
        log_z = _log_trace(one * target.beta * target.coupling, field * one, target.size)
        growth, by_field = torch.autograd.grad(log_z, (one, field), create_graph=True)
        [curve] = torch.autograd.grad(growth, one)  # the variance of log rho
    spin = by_field.item() / target.length
    return TorusWithField(log_z.item(), growth.item(), curve.clamp(min=0).sqrt().item(), spin)


def _log_trace(bond: Tensor, field: Tensor, size: int) -> Tensor:
    rows = 2 * all_states(size, 2).double() - 1
    energy = bond * (rows * rows.roll(1, 1)).sum(1) + field * rows.sum(1)
    matrix = (energy[:, None] + energy) / 2 + bond * rows @ rows.T
    scale = matrix.detach().max()
    matrix = (matrix - scale).exp()
    power = matrix
    log_scale = size * scale
    for _ in range(size - 2):
        power = power @ matrix
        top = power.detach().max()
        power, log_scale = power / top, log_scale + top.log()
    return (power * matrix.T).sum().log() + log_scale
