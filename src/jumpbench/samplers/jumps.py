"""What simulations of jump processes share: rows of jump probabilities, steps, and the report.

A jump process is given by ``rate_fn(x, t) -> (B, D, N)``: the non-negative rates at which site d
of state x (B, D) jumps to each symbol at time t; the entries at the current symbols are ignored.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

RateFn = Callable[[Tensor, Tensor], Tensor]


class Step(NamedTuple):
    """One step of a simulation, as given to hooks.

    Attributes:
        before: states (B, D) before the step.
        after: states (B, D) after it.
        time: time at which the rates were evaluated, one for all chains or one each (B,).
        weight: what the rates were multiplied by, the step's length or noise; likewise.
        rates: rates (B, D, N), 0 at the current symbols.
        probabilities: per-site jump probabilities (B, D, N) that ``after`` was drawn from.
    """

    before: Tensor
    after: Tensor
    time: Tensor
    weight: Tensor
    rates: Tensor
    probabilities: Tensor


Hook = Callable[[Step], None]


class JumpInfo(NamedTuple):
    """What happened to each chain.

    Attributes:
        jumps: number of site changes (B,).
        invalid_rows: rows whose jump probabilities summed to more than one or were not finite,
            summed over sites and steps (B,).
        n_evaluations: evaluations of the rates per chain.
    """

    jumps: Tensor
    invalid_rows: Tensor
    n_evaluations: int


Rows = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def renormalise(expected: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows that jump with the expected numbers of jumps and stay with the rest, at least 0.

    Args:
        expected: rates times the step's weight (B, D, N), 0 at the current symbols.
        x: current states (B, D).

    Returns:
        Probabilities (B, D, N), scaled to one where the rest was negative, and the invalid rows
        (B, D). Rows that are not finite stay.
    """
    rest, finite = _rest(expected)
    row = expected.scatter(-1, x.long()[..., None], rest.clamp(min=0))
    row = row / row.sum(-1, keepdim=True)
    return torch.where(finite, row, _staying(expected, x)), ((rest < 0) | ~finite)[..., 0]


def stay(expected: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """As :func:`renormalise`, but rows with a negative rest stay where they are (DASBS sec. 4)."""
    rest, finite = _rest(expected)
    valid = finite & (rest >= 0)
    row = expected.scatter(-1, x.long()[..., None], rest)
    return torch.where(valid, row, _staying(expected, x)), ~valid[..., 0]


def frozen(expected: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of at most one jump at frozen rates: stay with exp(-sum), always valid if finite."""
    rest, finite = _rest(expected)
    total = 1 - rest
    # (1 - exp(-r)) / r, which tends to 1 with the total rate r.
    share = torch.where(total > 0, -torch.expm1(-total) / total, torch.ones_like(total))
    row = (expected * share).scatter(-1, x.long()[..., None], torch.exp(-total))
    return torch.where(finite, row, _staying(expected, x)), ~finite[..., 0]


def clear_current(rates: Tensor, x: Tensor) -> Tensor:
    """``rates`` (..., D, N) with 0 at the current symbols."""
    return rates.scatter(-1, x.long()[..., None], 0.0)


def _rest(expected: Tensor) -> tuple[Tensor, Tensor]:
    rest = 1 - expected.sum(-1, keepdim=True)
    return rest, rest.isfinite()


def _staying(expected: Tensor, x: Tensor) -> Tensor:
    return torch.zeros_like(expected).scatter(-1, x.long()[..., None], 1.0)
