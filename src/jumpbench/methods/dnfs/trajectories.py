"""States along the annealing path, three ways (Figure 17): forward, backward, and by chains."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from jumpbench.errors import UserError
from jumpbench.methods.dnfs.paths import reverse_paths, simulate_flow
from jumpbench.samplers.annealed_path import PathLaw
from jumpbench.samplers.chain import Kernel
from jumpbench.targets.base import DiscreteTarget

WAYS = ("forward", "backward", "chains")


@torch.no_grad()
def trajectories(
    network: nn.Module,
    target: DiscreteTarget,
    times: Tensor,
    data: Tensor,
    kernel: Kernel,
    kernel_steps: int,
    shown: Sequence[float],
    generator: torch.Generator,
) -> Tensor:
    """States (B, 3, T, D) uint8 at the ``shown`` times, in the order of :data:`WAYS`.

    ``forward``: trajectories of the flow from the uniform law. ``backward``: those of its reverse
    rates from ``data`` (B, D). ``chains``: of p_t itself, ``kernel_steps`` steps at each shown
    time, started at the states of the one before and, first, at uniform states.

    Raises:
        UserError: shown times outside [0, 1] or not increasing.
    """
    if not all(0 <= t <= 1 for t in shown) or sorted(set(shown)) != list(shown):
        raise UserError(f"shown_times must increase within 0..1, not {list(shown)}")
    at = [round(t * (len(times) - 1)) for t in shown]
    path = simulate_flow(network, target, times, len(data), generator, keep_path=True).states
    forward = path[at]
    backward = reverse_paths(network, target, times, data, generator, keep_path=True)[1][at]
    x, chains = path[0], []  # the uniform states that the flow starts from
    for t in shown:
        x, _ = kernel(
            PathLaw(target, torch.as_tensor(t, device=x.device)), x, kernel_steps, generator
        )
        chains.append(x)
    ways = torch.stack([forward, backward, torch.stack(chains)])
    return ways.permute(2, 0, 1, 3).to(torch.uint8)
