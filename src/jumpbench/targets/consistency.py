"""Whether a target's methods speak of one law: what it computes fast is what ``log_prob`` says."""

from typing import Any, cast

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.targets.base import DiscreteTarget, generic_neighbor_log_ratios
from jumpbench.targets.lattice import LatticeTarget, is_lattice

STATES = 4
"""So many are compared, at all their neighbours."""


@torch.no_grad()
def check_consistency(target: DiscreteTarget, x: Tensor) -> None:
    """Compares log-ratios, and ``pair`` and ``field`` of a lattice, with differences of log_prob.

    A target with ``exact_ratios = False`` is left out, and so are several laws, one for each state.

    Args:
        target: one that :func:`~jumpbench.targets.base.check_target` accepts.
        x: (B, D) states, of which the first four are asked.

    Raises:
        UserError: they differ by more than rounding.
    """
    several = hasattr(target, "rows") and len(cast(Any, target)) > 1
    if several or not getattr(target, "exact_ratios", True):
        return
    x = x[:STATES].long()
    name, log_prob = type(target).__name__, target.log_prob(x)
    size = log_prob.abs().max()
    exact = generic_neighbor_log_ratios(target.log_prob, x, target.n_states)
    site = torch.arange(len(x), device=x.device) % x.shape[1]
    found = {"neighbor_log_ratios": (target.neighbor_log_ratios(x), exact)}
    if own := getattr(target, "site_log_ratios", None):
        at_site = exact[torch.arange(len(x), device=x.device), site]
        found["site_log_ratios"] = (own(x, site), at_site)
    for method, (ratios, differences) in found.items():
        known = differences.isfinite() & ratios.isfinite()
        wrong = known & (
            (ratios - differences).abs() > 1e-3 * (1 + differences.abs()) + 4e-6 * size
        )
        if wrong.any():
            place = tuple(wrong.nonzero()[0].tolist())
            where = site[place[0]].item() if len(place) == 2 else place[1]
            raise UserError(
                f"{name}.{method} is {ratios[place].item():.4g} at site {where}, symbol "
                f"{place[-1]}, where log_prob changes by {differences[place].item():.4g}: change "
                "both, or derive the class from Target and write log_prob alone"
            )
    if is_lattice(target):
        offset = log_prob.double() - _lattice_log_prob(cast(LatticeTarget, target), x)
        if ((offset - offset[0]).abs() > 1e-3 * (1 + size)).any():
            raise UserError(
                f"{name} has pair and field, which cluster moves and lattice kernels use, but they "
                "do not give its log_prob: derive the class from Target"
            )


def _lattice_log_prob(target: LatticeTarget, x: Tensor) -> Tensor:
    grid = target.grid(x)
    pair, field = target.pair.to(x.device), target.field.to(x.device)
    pairs = pair[grid, grid.roll(1, -1)] + pair[grid, grid.roll(1, -2)]
    return (pairs + field[grid]).sum((-2, -1)).double()
