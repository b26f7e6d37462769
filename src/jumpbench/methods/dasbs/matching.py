"""The four regressions of DASBS: adjoint and denoising matching, for controller and corrector.

All four predict, at a state ``at`` and for every (site d, symbol n), the ratio of a potential
between ``at`` with site d set to n and ``at``, and know it only through a second state, the
``pole``: the path's end for the controller, its start (or an inner state) for the corrector.
Everything is in logarithms until the divergence (:mod:`~jumpbench.methods.dasbs.losses`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.dasbs.bridge import Pairs, Reference
from jumpbench.processes.base import is_symbol

Network = Callable[..., Tensor]
Ratios = Callable[[Tensor], Tensor]


def adjoint_log_target(ratios: Tensor, pole: Tensor, at: Tensor) -> Tensor:
    """Log-ratios of the pole's potential, moved to ``at`` by the shift that the kernel permits.

    The change of site d of ``at`` to n, a shift by n - at_d mod N, is applied to the pole:
    ``result[..., d, n] = ratios[..., d, (pole_d + n - at_d) mod N]``
    (DASBS, ctrl-AM: pole x_1, at x_t; corr-AM: pole x_0, at x_1).

    Args:
        ratios: (B, 1, D, N), or (B, R, D, N), log-ratios at the pole.
        pole: (B, 1, D) or (B, R, D).
        at: likewise.

    Returns:
        (B, R, D, N); the entry at the current symbol of ``at`` means nothing.
    """
    n_states = ratios.shape[-1]
    symbols = torch.arange(n_states, device=ratios.device)
    index = ((pole - at)[..., None] + symbols) % n_states
    return ratios.expand(index.shape).gather(-1, index)


def denoising_log_target(log_odds: Tensor, pole: Tensor, at: Tensor, n_states: int) -> Tensor:
    """Log-ratio of the kernel between the pole and ``at`` with site d set to n, to that of ``at``.

    ``log_odds * (1[n != pole_d] - 1[at_d != pole_d])`` with ``log_odds = log A(t,1)/B(t,1)``
    (DASBS, ctrl-DM: pole x_1, at x_t; corr-DM: pole x_t, at x_1). Shapes (B, R) and (B, R, D).
    """
    elsewhere = (~is_symbol(pole, n_states)).float()
    return log_odds[..., None, None] * (elsewhere - (at != pole)[..., None].float())


class Matching(Protocol):
    """How a pole tells about a ratio.

    Attributes:
        needs_cover: the corrector's targets need a source that reaches every state.
        sees_target: the controller's targets are made of nu; otherwise it speaks only through the
            weights of the pairs.
    """

    needs_cover: ClassVar[bool]
    sees_target: ClassVar[bool]

    def controller(
        self, pairs: Pairs, n_times: int, end_ratios: Ratios, reference: Reference,
        generator: torch.Generator,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Times (B, R), states (B, R, D) and log targets (B, R, D, N) of the controller."""
        ...

    def corrector(
        self, pairs: Pairs, n_times: int, start_ratios: Ratios, reference: Reference,
        generator: torch.Generator,
    ) -> Tensor:  # fmt: skip
        """Log targets (B, R, D, N) of the corrector at the ends of the pairs."""
        ...


@dataclass(frozen=True)
class AdjointMatching:
    """Targets made of ratios at the pole; those are evaluated once per pair, not per time.

    Controller: ``end_ratios(x_1)`` = log nu-ratios minus log Phihat. Corrector, at t = 0 only:
    ``start_ratios(x_0)`` = log mu-ratios minus log Phi_0.
    """

    needs_cover: ClassVar[bool] = True
    sees_target: ClassVar[bool] = True

    def controller(self, pairs, n_times, end_ratios, reference, generator):
        t = _times(pairs, n_times, 1.0, generator)
        x = reference.bridge(pairs, t, generator)
        ratios = end_ratios(pairs.end).unsqueeze(1)
        return t, x, adjoint_log_target(ratios, pairs.end.unsqueeze(1), x)

    def corrector(self, pairs, n_times, start_ratios, reference, generator):
        start, end = pairs.start.unsqueeze(1), pairs.end.unsqueeze(1)
        return adjoint_log_target(start_ratios(pairs.start).unsqueeze(1), start, end)


@dataclass(frozen=True)
class DenoisingMatching:
    """Targets made of ratios of the reference kernel over [t, 1], with t ~ U(0, latest).

    Their variance explodes as t -> 1, hence the cap (0.99 in the released code).

    Raises:
        UserError: ``latest`` outside (0, 1].
    """

    latest: float = 0.99
    needs_cover: ClassVar[bool] = False
    sees_target: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.latest <= 1:
            raise UserError(f"latest={self.latest}: times of the matching lie in (0, 1]")

    def controller(self, pairs, n_times, end_ratios, reference, generator):
        t = _times(pairs, n_times, self.latest, generator)
        x = reference.bridge(pairs, t, generator)
        end, n_states = pairs.end.unsqueeze(1), reference.process.n_states
        return t, x, denoising_log_target(reference.log_odds(t), end, x, n_states)

    def corrector(self, pairs, n_times, start_ratios, reference, generator):
        t = _times(pairs, n_times, self.latest, generator)
        x = reference.bridge(pairs, t, generator)
        end, n_states = pairs.end.unsqueeze(1), reference.process.n_states
        return denoising_log_target(reference.log_odds(t), x, end, n_states)


def _times(pairs: Pairs, n_times: int, latest: float, generator: torch.Generator) -> Tensor:
    shape, device = (len(pairs.end), n_times), pairs.end.device
    return latest * torch.rand(shape, generator=generator, device=device)
