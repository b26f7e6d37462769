"""Independent draws from an exactly known target, as a kernel that forgets its state at once."""

import math
import weakref

import torch
from torch import Tensor

from jumpbench.samplers.chain import ChainInfo, never_rejected
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import LARGEST_BITS, enumerate_law
from jumpbench.targets.torus_rows import TorusRows


class EnumeratedDraws:
    """A step replaces every state by an independent draw; all N^D states are enumerated once.

    A larger torus of few rows is drawn row by row
    (:class:`~jumpbench.targets.torus_rows.TorusRows`). The steps of one call are one draw: what
    comes between would be forgotten.

    Raises:
        UserError: more than 2^20 states, and no such torus.
    """

    def __init__(self) -> None:
        self._laws: weakref.WeakKeyDictionary[DiscreteTarget, tuple[Tensor, Tensor]] = (
            weakref.WeakKeyDictionary()
        )
        self._rows: weakref.WeakKeyDictionary[DiscreteTarget, TorusRows | None] = (
            weakref.WeakKeyDictionary()
        )

    @torch.no_grad()
    def __call__(
        self,
        target: DiscreteTarget,
        x: Tensor,
        steps: int,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ChainInfo]:
        if steps == 0:
            return x.clone(), ChainInfo(torch.zeros(len(x), device=x.device), 0, 0)
        if target not in self._rows:
            small = target.length * math.log2(target.n_states) <= LARGEST_BITS
            self._rows[target] = None if small else TorusRows.of(target)
        if (rows := self._rows[target]) is not None:
            drawn = rows.draw(len(x), generator).to(x.device, x.dtype)
            return drawn, ChainInfo(never_rejected(drawn), 0, 1)
        if target not in self._laws:
            law = enumerate_law(target)
            self._laws[target] = law.states, law.probs.cumsum(0)
        states, running = self._laws[target]
        # Doubles: among 2^20 states single precision would never draw the rare ones.
        u = torch.rand(len(x), generator=generator, dtype=torch.float64, device=x.device)
        index = torch.searchsorted(running / running[-1], u.cpu(), right=True)
        drawn = states[index.clamp_(max=len(states) - 1)].to(x.device, x.dtype)
        return drawn, ChainInfo(never_rejected(drawn), 0, 1)
