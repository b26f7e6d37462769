"""Tau-leaping of the controlled process on a grid of exact noise (DASBS, sec. 4)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.metrics.lattice import dominating_symbols, symbol_fractions
from jumpbench.ops.precision import at_least_single
from jumpbench.processes.schedules import Schedule
from jumpbench.samplers.leaping import tau_leaping
from jumpbench.samplers.path_weights import Girsanov, ReferenceRatio

LogControl = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Grid:
    """Times t_0 < ... < t_M, and the noise G(t_i, t_{i+1}) of every step, as plain numbers."""

    times: tuple[float, ...]
    noise: tuple[float, ...]

    @classmethod
    def uniform(cls, schedule: Schedule, n_steps: int, start: float = 0.0) -> "Grid":
        """M equal steps from ``start`` to 1, with the exact integral of the schedule.

        Raises:
            ValueError: no steps, ``start`` outside [0, 1), or infinite noise in the first step.
        """
        if n_steps < 1 or not 0 <= start < 1:
            raise ValueError(f"need n_steps >= 1 and 0 <= start < 1, not {n_steps} and {start}")
        times = torch.linspace(start, 1, n_steps + 1, dtype=torch.float64)
        noise = schedule.integral(times[:-1], times[1:])
        if not torch.isfinite(noise).all():
            raise ValueError(
                f"the schedule has infinite noise after t={start}: start later (0.01 is usual)"
            )
        return cls(tuple(times.tolist()), tuple(noise.tolist()))


@dataclass(frozen=True)
class ControlledPaths:
    """Ends and sums of B simulated paths.

    Attributes:
        start, end: (B, D) states at t_0 and t_M.
        jumps: (B,) changes per site. invalid: (B,) site-steps that stayed put because their
            jump probabilities summed to more than one or were not finite, per site and step.
        log_reference: (B,) log p^r/p^u of the path, or None: p^r from the exact kernel between
            grid times, p^u from the tau-leaping probabilities; the start's law is left out.
        log_girsanov: (B,) log p*/p^r if the control were the bridge's own, or None.
    """

    start: Tensor
    end: Tensor
    jumps: Tensor
    invalid: Tensor
    log_reference: Tensor | None = None
    log_girsanov: Tensor | None = None


@torch.no_grad()
def simulate_controlled(
    log_control: LogControl,
    x: Tensor,
    grid: Grid,
    reference: Reference,
    generator: torch.Generator | None,
    path_weights: bool = False,
    girsanov: bool = False,
) -> ControlledPaths:
    """Runs the controlled process over the grid, one call ``log_control(x, t)`` per step.

    Site d jumps to n with probability (G/N) Phi[d, n]; where these sum to more than one, or are
    not finite, the site stays put (:func:`~jumpbench.samplers.jumps.stay`).

    Args:
        log_control: maps states (B, D) and times (B,) to log Phi (B, D, N).
        x: states (B, D) at the grid's first time.
        path_weights: also sum log p^r/p^u of the paths. girsanov: also log p*/p^r.
    """
    process, length = reference.process, x.shape[-1]
    ratio = ReferenceRatio(process) if path_weights else None
    exponent = Girsanov(process) if girsanov else None

    def control(x: Tensor, t: Tensor) -> Tensor:
        return at_least_single(log_control(x, t)).exp()

    end, info = tau_leaping(
        control,
        x,
        grid.times,
        generator,
        weights=[noise / process.n_states for noise in grid.noise],
        hooks=[hook for hook in (ratio, exponent) if hook is not None],
    )
    return ControlledPaths(
        x,
        end,
        info.jumps / length,
        info.invalid / (length * len(grid.noise)),
        None if ratio is None else torch.as_tensor(ratio.value),
        None if exponent is None else torch.as_tensor(exponent.value),
    )


def mode_persistence(paths: ControlledPaths, n_states: int) -> Tensor:
    """Whether paths that start from constant configurations end in the mode of their start; (B,).

    1 where the start's symbol is the most frequent one at the end, 1/k if it is one of k such.
    Its mean is P(end mode = start mode): 1/N both if the end forgets the start and if all paths
    end in one mode, which the law of the end's modes tells apart; near 1 in an ordered phase whose
    modes all get their share.
    """
    modes = dominating_symbols(symbol_fractions(paths.end, n_states))
    return modes.gather(1, paths.start[:, :1].long()).squeeze(1)
