"""Tau-leaping of the controlled process, and the sums that compare path laws (DASBS, sec. 4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jumpbench.methods.dasbs.matching import Reference
from jumpbench.processes.schedules import Schedule

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
class Paths:
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

    @classmethod
    def concatenate(cls, parts: "Sequence[Paths]") -> "Paths":
        """Paths of several batches as one."""
        columns = {name: [vars(part)[name] for part in parts] for name in vars(parts[0])}
        return cls(**{k: None if c[0] is None else torch.cat(c) for k, c in columns.items()})

    def gathered(self, all_gather: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> "Paths":
        """The paths of all processes of a distributed run, on every one of them."""
        fields = all_gather({k: v for k, v in vars(self).items() if v is not None})
        return Paths(**{name: value.flatten(0, 1) for name, value in fields.items()})


def leap(
    x: Tensor, log_control: Tensor, noise: float, u: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One step: site d jumps to n with probability (G/N) Phi[d, n], all sites independently.

    Where these probabilities sum to more than one, or are not finite, the site stays put.

    Args:
        x: (B, D). log_control: log Phi, (B, D, N). noise: G of the step.
        u: (B, D) uniform numbers in [0, 1); the symbol is drawn by inversion.

    Returns:
        new states (B, D); jump probabilities (B, D, N), 0 at the current symbol; their sum
        (B, D); valid (B, D), False where a site had to stay.
    """
    n_states = log_control.shape[-1]
    probability = log_control.exp().mul_(noise / n_states)
    probability.scatter_(-1, x.long().unsqueeze(-1), 0.0)
    running = probability.cumsum(-1)
    total = running[..., -1]
    valid = total <= 1  # False also for NaN
    drawn = torch.searchsorted(running, u.unsqueeze(-1), right=True).squeeze(-1)
    return torch.where(valid & (u < total), drawn, x), probability, total, valid


@torch.no_grad()
def simulate(
    log_control: LogControl,
    x: Tensor,
    grid: Grid,
    reference: Reference,
    generator: torch.Generator,
    path_weights: bool = False,
) -> Paths:
    """Runs the controlled process over the grid, one call ``log_control(x, t)`` per step.

    Args:
        log_control: maps states (B, D) and times (B,) to log Phi (B, D, N).
        x: states (B, D) at the grid's first time.
        path_weights: also sum the two log-ratios of the path laws.
    """
    start = x
    jumps = torch.zeros(len(x), device=x.device)
    invalid = torch.zeros(len(x), device=x.device)
    sums = PathSums.zeros(len(x), x.device) if path_weights else None
    u = torch.empty(x.shape, device=x.device)
    t = torch.empty(len(x), device=x.device)
    for time, noise in zip(grid.times[:-1], grid.noise, strict=True):
        ratios = log_control(x, t.fill_(time))
        new, probability, total, valid = leap(x, ratios, noise, u.uniform_(generator=generator))
        changed = new != x
        if sums is not None:
            sums.add(ratios, probability, total, valid, changed, new, noise, reference)
        jumps += changed.sum(-1)
        invalid += (~valid).sum(-1)
        x = new
    length = x.shape[-1]
    log_reference, log_girsanov = (None, None) if sums is None else (sums.reference, sums.girsanov)
    per_site_step = 1 / (length * len(grid.noise))
    return Paths(start, x, jumps / length, invalid * per_site_step, log_reference, log_girsanov)


@dataclass
class PathSums:
    """Running sums of log p^r/p^u and of the Girsanov exponent log p*/p^r, both (B,)."""

    reference: Tensor
    girsanov: Tensor

    @classmethod
    def zeros(cls, n: int, device: torch.device) -> "PathSums":
        return cls(torch.zeros(n, device=device), torch.zeros(n, device=device))

    def add(
        self,
        ratios: Tensor,
        probability: Tensor,
        total: Tensor,
        valid: Tensor,
        changed: Tensor,
        new: Tensor,
        noise: float,
        reference: Reference,
    ) -> None:
        """Adds one step of :func:`leap`. A site that had to stay counts as uncontrolled: rate 0."""
        process, length = reference.process, new.shape[-1]
        n_changed = changed.sum(-1)
        move = process.move_probability(noise).log()
        stay = torch.log1p(-process.change_probability(noise))
        index = new.unsqueeze(-1)
        drawn = probability.gather(-1, index).squeeze(-1)
        kept = torch.where(valid, total, 0)
        log_model = torch.where(changed, drawn, 1 - kept).log().sum(-1)
        self.reference += n_changed * move + (length - n_changed) * stay - log_model
        n_states = process.n_states
        drift = noise * (n_states - 1) / n_states - kept
        log_phi = torch.where(changed, ratios.gather(-1, index).squeeze(-1), 0)
        self.girsanov += (drift + log_phi).sum(-1)
