"""Exact law of the tau-leaping sampler on a small state space."""

from collections.abc import Callable

import torch
from torch import Tensor

from jumpbench.methods.dasbs.sampler import Grid
from jumpbench.samplers.jumps import jump_law

MAX_STATES_OF_A_MATRIX = 4096


def sampler_law(
    log_control: Callable[[Tensor, Tensor], Tensor], law: Tensor, states: Tensor, grid: Grid
) -> Tensor:
    """Law (S,) of the end of a tau-leaping path whose start has the law ``law`` (S,).

    At every grid time the product of the sites' transition probabilities is written out from all
    states to all states, so the result has no sampling error.

    Raises:
        ValueError: the S x S matrix would be too large.
    """
    if len(states) > MAX_STATES_OF_A_MATRIX:
        raise ValueError(
            f"the exact law of the sampler needs at most {MAX_STATES_OF_A_MATRIX} states, "
            f"not {len(states)}"
        )
    for time, noise in zip(grid.times[:-1], grid.noise, strict=True):
        t = torch.full((len(states),), time, device=states.device)
        control = log_control(states, t)
        site, _ = jump_law(control.exp().double() * (noise / control.shape[-1]), states)
        matrix = site[:, 0]
        for d in range(1, site.shape[1]):
            matrix = (matrix.unsqueeze(-1) * site[:, d].unsqueeze(1)).flatten(1)
        law = law @ matrix
    return law
