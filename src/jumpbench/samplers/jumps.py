"""What simulations of jump processes share: one step of all sites, its rules, hooks and report.

A jump process is given by ``rate_fn(x, t) -> (B, D, N)``: the non-negative rates at which site d
of state x (B, D) jumps to each symbol at time t (B,); the entries at the current symbols are
ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from jumpbench.ops.categorical import sample_categorical
from jumpbench.samplers.cost import Cost

RateFn = Callable[[Tensor, Tensor], Tensor]


class JumpInfo(NamedTuple):
    """What happened to each chain.

    Attributes:
        jumps: number of site changes (B,).
        invalid: rows whose expected jumps summed to more than one or were not finite, summed over
            sites and steps (B,).
        sequential_steps: evaluations of the rates per chain, one after the other.
    """

    jumps: Tensor
    invalid: Tensor
    sequential_steps: int

    @property
    def cost(self) -> Cost:
        """Of the last states if the rates come from a network, one call per step."""
        return Cost(
            network_evaluations=self.sequential_steps, sequential_steps=self.sequential_steps
        )


Rule = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Maps the expected jumps of a site, summed over symbols, (..., D), to a divisor that turns them
into probabilities (infinite or NaN: the site stays), and to the rows that count as invalid."""


def stay(total: Tensor) -> tuple[Tensor, Tensor]:
    """Sites whose jump probabilities sum to more than one stay where they are (DASBS sec. 4)."""
    valid = total <= 1  # False also for NaN
    return valid.to(total.dtype).reciprocal_(), valid.logical_not_()


def renormalise(total: Tensor) -> tuple[Tensor, Tensor]:
    """Jump probabilities that sum to more than one are scaled to one (Euler steps)."""
    return total.clamp(min=1), (total <= 1).logical_not_()


def frozen(total: Tensor) -> tuple[Tensor, Tensor]:
    """At most one jump at frozen rates: the site stays with exp(-total); valid where finite."""
    return total / -torch.expm1(-total), ~total.isfinite()


class Leap(NamedTuple):
    """One step of all sites, as :func:`leap` made it.

    Attributes:
        after: new states (B, D).
        total: expected jumps of every site (B, D).
        divisor: what expected jumps are divided by to be probabilities (B, D), see :data:`Rule`.
        invalid: bool (B, D).
    """

    after: Tensor
    total: Tensor
    divisor: Tensor
    invalid: Tensor


def row_starts(expected: Tensor) -> Tensor:
    """Where the rows of ``expected`` (B, D, N) begin in its B D N numbers: (B D,), for leap."""
    return torch.arange(0, expected.numel(), expected.shape[-1], device=expected.device)


def leap(
    expected: Tensor, x: Tensor, u: Tensor, rule: Rule = stay, rows: Tensor | None = None
) -> Leap:
    """All sites at once: site d jumps to n with probability expected[d, n] / divisor[d].

    Args:
        expected: rates times the step's weight (B, D, N); its entries at the current symbols are
            set to 0 in place. Contiguous.
        x: states (B, D).
        u: uniform numbers (B, D) in (0, 1), of the dtype of ``expected``, overwritten; the symbol
            is drawn by inversion.
        rule: what is done with rows that sum to more than one.
        rows: :func:`row_starts`, if kept between steps.
    """
    rows = row_starts(expected) if rows is None else rows
    # Three times as fast as scatter_.
    expected.view(-1).index_fill_(0, rows + x.reshape(-1), 0.0)
    running = expected.cumsum(-1)
    total = running[..., -1]
    divisor, invalid = rule(total)
    place = u.mul_(divisor)
    drawn = torch.searchsorted(running, place.unsqueeze(-1), right=True).squeeze(-1)
    # False where the place is infinite or NaN: such a row stays.
    after = torch.where(place < total, drawn.to(x.dtype), x)
    return Leap(after, total, divisor, invalid)


def jump_law(expected: Tensor, x: Tensor, rule: Rule = stay) -> tuple[Tensor, Tensor]:
    """The law that :func:`leap` draws from: rows (..., D, N) that sum to one, and invalid rows.

    Sites stay with the rest. ``expected`` (..., D, N) is not modified.
    """
    expected = clear_current(expected, x)
    divisor, invalid = rule(expected.sum(-1))
    jumps = expected / divisor.unsqueeze(-1)
    jumps = torch.where(jumps.isfinite().all(-1, keepdim=True), jumps, 0.0)
    rest = (1 - jumps.sum(-1, keepdim=True)).clamp(min=0)
    return jumps.scatter(-1, x.long().unsqueeze(-1), rest), invalid


def clear_current(rates: Tensor, x: Tensor) -> Tensor:
    """``rates`` (..., D, N) with 0 at the current symbols."""
    return rates.scatter(-1, x.long().unsqueeze(-1), 0.0)


def one_jump(
    x: Tensor, rates: Tensor, happens: Tensor, generator: torch.Generator | None
) -> Tensor:
    """x with one jump drawn in proportion to ``rates`` (B, D, N) where ``happens`` (B,)."""
    flat = sample_categorical(rates.flatten(1), generator)
    n_states = rates.shape[-1]
    site, token = flat // n_states, (flat % n_states).to(x.dtype)
    return torch.where(happens[:, None], x.scatter(1, site[:, None], token[:, None]), x)


@dataclass
class JumpStep:
    """One step of a simulation, as given to hooks.

    Attributes:
        before, after: states (B, D).
        time: time at which the rates were evaluated, (B,).
        weight: what the rates were multiplied by, the step's length or noise; one number for all
            chains or (B,).
        rates: rates (B, D, N); the entries at the current symbols mean nothing.
        leap: how all sites moved at once, with ``expected``, rates times weight (B, D, N), 0 at
            the current symbols; a buffer that the next step overwrites. None from the exact
            simulations, which move one site at a time and give ``rates`` alone.
    """

    before: Tensor
    after: Tensor
    time: Tensor
    weight: Tensor | float
    rates: Tensor
    expected: Tensor | None = None
    leap: Leap | None = None


Hook = Callable[[JumpStep], None]
