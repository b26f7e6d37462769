"""Log-ratios of path laws: p^u controlled, p^r uniform reference, p* the bridge; tau-leaping hooks.

The controlled process has rates gamma_t / N * Phi_t(x)[d, n]; it is simulated with rates Phi and
weights G_i / N, where G_i is the noise of step i (the integral of gamma).
"""

from typing import TypeVar

import torch
from torch import Tensor

from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.jumps import JumpStep

Part = TypeVar("Part")


class _PathSum:
    """A sum over the steps of a path.

    Attributes:
        value: the sum so far (B,), in nats; 0 before the first step.
    """

    def __init__(self, process: UniformProcess) -> None:
        self.process = process
        self.value: Tensor | float = 0.0


class ReferenceRatio(_PathSum):
    """log p^r/p^u: p^r from the exact kernel between grid times, p^u from the leaps' own law.

    The start's law is left out. A site that had to stay counts as uncontrolled, with rate 0.
    """

    def __call__(self, step: JumpStep) -> None:
        length = step.after.shape[-1]
        noise = step.weight * self.process.n_states
        changed = step.after != step.before
        n_changed = changed.sum(-1)
        move = self.process.move_probability(noise).log()
        stay = torch.log1p(-self.process.change_probability(noise))
        drawn = _given(step.expected).gather(-1, step.after.long().unsqueeze(-1)).squeeze(-1)
        drawn = drawn / _given(step.leap).divisor
        log_model = torch.where(changed, drawn, 1 - _jump_probability(step)).log().sum(-1)
        self.value = self.value + (n_changed * move + (length - n_changed) * stay - log_model)


class Girsanov(_PathSum):
    """log p*/p^r if the control were the bridge's own: the Girsanov exponent of the path."""

    def __call__(self, step: JumpStep) -> None:
        n_states = self.process.n_states
        noise = step.weight * n_states
        drawn = step.rates.gather(-1, step.after.long().unsqueeze(-1)).squeeze(-1)
        log_phi = torch.where(step.after != step.before, drawn.log(), 0)
        drift = noise * (n_states - 1) / n_states - _jump_probability(step)
        self.value = self.value + (drift + log_phi).sum(-1)


def _jump_probability(step: JumpStep) -> Tensor:
    """Probability (B, D) that a site jumped; 0 where it had to stay."""
    leap = _given(step.leap)
    return (leap.total / leap.divisor).nan_to_num_(nan=0.0)


def _given(part: Part | None) -> Part:
    """What only a leap knows of its step.

    Raises:
        ValueError: the step was none.
    """
    if part is None:
        raise ValueError("path weights are of tau-leaping: this sampler's steps are no leaps")
    return part
