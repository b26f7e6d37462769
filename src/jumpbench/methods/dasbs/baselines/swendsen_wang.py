"""Swendsen-Wang chains as a row of the tables, and as the ground truth behind all of them."""

from typing import Any

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.dasbs.baselines.chains import Chains, diagnostics
from jumpbench.samplers.clusters import swendsen_wang


class SwendsenWang(Chains):
    """Swendsen-Wang chains; a move is one sweep. See :class:`Chains` for the arguments."""

    def advance(self, x: Tensor, n_moves: int, generator: torch.Generator) -> Tensor:
        return swendsen_wang.SwendsenWang()(self.target, x, n_moves, generator)[0]


class GroundTruth(SwendsenWang):
    """Swendsen-Wang chains that decide by their own diagnostics when they are good enough.

    Half of the chains start from uniform states, half from constant ones, so that chains which
    have not forgotten their start disagree. After ``burn_in`` sweeps, one round of draws is
    collected; while its R-hat or its autocorrelation time (in kept draws) is above the bound, the
    draws are dropped, the spacing is doubled and the chains go on from where they are.

    Logs, beside what :class:`Chains` logs, ``spacing`` and ``rounds`` of the accepted draws.

    Args:
        burn_in: sweeps before the first round.
        spacing: sweeps per kept configuration in the first round.
        max_rhat, max_tau: the bounds. At 128 chains of 32 perfect draws R-hat scatters by about
            0.003 around 1 and tau by about 0.07.
        max_rounds: rounds before giving up.
        strict: whether giving up is an error; if not, ``converged`` is logged as 0.
        kwargs: see :class:`Chains`.

    Raises:
        UserError: bounds out of range; in the test stage, not converged while ``strict``.
    """

    def __init__(
        self,
        *args: Any,
        burn_in: int = 256,
        spacing: int = 8,
        max_rhat: float = 1.02,
        max_tau: float = 1.3,
        max_rounds: int = 8,
        strict: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, burn_in=burn_in, spacing=spacing, **kwargs)
        if max_rhat <= 1 or max_tau <= 1 or max_rounds < 1:
            raise UserError("the ground truth needs max_rhat > 1, max_tau > 1 and max_rounds >= 1")
        self.max_rhat = max_rhat
        self.max_tau = max_tau
        self.max_rounds = max_rounds
        self.strict = strict
        self._rounds: list[dict[str, float]] = []

    def start(self, generator: torch.Generator) -> Tensor:
        x = super().start(generator)
        ordered = x[::2]
        ordered.copy_(ordered[:, :1].expand_as(ordered))
        return x

    def on_test_epoch_start(self) -> None:
        super().on_test_epoch_start()
        self._rounds = []

    def draw(self, generator: torch.Generator) -> Tensor:
        x = self.advance(self.start(generator), self.burn_in, generator)
        moves = self.burn_in
        for rounds in range(self.max_rounds):
            spacing = self.spacing * 2**rounds
            x, kept = self.collect(x, spacing, generator)
            moves += self.collections * spacing
            found = diagnostics(self.target, kept)
            converged = found["rhat"] <= self.max_rhat and found["tau"] <= self.max_tau
            if converged:
                break
        if not converged and self.strict:
            raise UserError(
                f"Swendsen-Wang chains have R-hat {found['rhat']:.3f} and tau {found['tau']:.2f} "
                f"after {moves} sweeps: raise max_rounds or collections, or set strict=false"
            )
        self._rounds.append(
            {
                "rounds": rounds + 1.0,
                "spacing": float(spacing),
                "moves_per_chain": float(moves),
                "converged": float(converged),
            }
        )
        return kept

    def summary(self, samples: Tensor) -> dict[str, float]:
        """As of :class:`Chains`; over several batches the most expensive one speaks."""
        worst = max(self._rounds, key=lambda found: found["moves_per_chain"])
        converged = min(found["converged"] for found in self._rounds)
        return super().summary(samples) | worst | {"converged": converged}
