"""The ground truth behind tables of samplers: Swendsen-Wang chains that check themselves."""

import math
from typing import Any, cast

import torch
from torch import Tensor

from jumpbench.errors import UserError
from jumpbench.methods.unnormalised.chains import Chains, diagnostics
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.clusters.bonds import bond_probability
from jumpbench.samplers.clusters.swendsen_wang import SwendsenWang
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.enumerated_draws import EnumeratedDraws
from jumpbench.targets.base import DiscreteTarget
from jumpbench.targets.enumeration import LARGEST_BITS
from jumpbench.targets.lattice import LatticeTarget
from jumpbench.targets.torus_rows import TorusRows


class GroundTruth(Chains):
    """Swendsen-Wang chains that decide by their own diagnostics when they are good enough.

    Half of the chains start from uniform states, half from constant ones, so that chains which
    have not forgotten their start disagree. After ``burn_in`` sweeps, one round of draws is
    collected; while its R-hat or its autocorrelation time (in kept draws) is above the bound, the
    draws are dropped, the spacing is doubled and the chains go on from where they are.

    A target without clusters (no lattice, a negative coupling) is enumerated instead, where it has
    at most 2^20 states or a torus' rows are few: its draws are independent.

    Further extras: ``spacing`` and ``rounds`` of the accepted draws, ``converged``.

    Args:
        target: see :class:`Chains`.
        burn_in: sweeps before the first round.
        spacing: sweeps per kept configuration in the first round.
        max_rhat: bound of R-hat. At 128 chains of 32 perfect draws it scatters by about 0.003
            around 1.
        max_tau: bound of tau, which then scatters by about 0.07.
        max_rounds: rounds before giving up.
        strict: whether giving up is an error; if not, ``converged`` is 0.
        kwargs: see :class:`Chains`.

    Raises:
        UserError: bounds out of range; a target that has no clusters and is too large to
            enumerate; in the test stage, not converged while ``strict``.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        burn_in: int = 256,
        spacing: int = 8,
        max_rhat: float = 1.02,
        max_tau: float = 1.3,
        max_rounds: int = 8,
        strict: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(target, exact_kernel(target), burn_in=burn_in, spacing=spacing, **kwargs)
        if max_rhat <= 1 or max_tau <= 1 or max_rounds < 1:
            raise UserError("the ground truth needs max_rhat > 1, max_tau > 1 and max_rounds >= 1")
        self.max_rhat = max_rhat
        self.max_tau = max_tau
        self.max_rounds = max_rounds
        self.strict = strict

    def start(self, n_chains: int, generator: torch.Generator) -> Tensor:
        x = super().start(n_chains, generator)
        ordered = x[::2]
        ordered.copy_(ordered[:, :1].expand_as(ordered))
        return x

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        start = self.start(self.chains_of(n), generator)
        x, cost = self.go_on(start, self.burn_in, generator)
        moves = self.burn_in
        for rounds in range(1, self.max_rounds + 1):
            spacing = self.spacing * 2 ** (rounds - 1)
            x, samples, spent = self.collect(x, spacing, self.collections, generator)
            cost += spent
            moves += self.collections * spacing
            now = diagnostics(self.target, samples)
            converged = now["rhat"] <= self.max_rhat and now["tau"] <= self.max_tau
            if converged:
                break
        if not converged and self.strict:
            raise UserError(
                f"{type(self.kernel).__name__} chains have R-hat {now['rhat']:.3f} and tau "
                f"{now['tau']:.2f} after {moves} sweeps: raise max_rounds or collections, or set "
                "strict=false"
            )
        values = {"moves_per_chain": moves, "spacing": spacing, "rounds": rounds}
        values = {name: float(value) for name, value in values.items()}
        return self.ensemble(samples, cost, values | {"converged": float(converged)})


def exact_kernel(target: DiscreteTarget) -> Kernel:
    """Swendsen-Wang where the target has clusters, independent draws where it is small.

    Raises:
        UserError: neither.
    """
    try:
        bond_probability(cast(LatticeTarget, target))
    except UserError as error:
        small = target.length * math.log2(target.n_states) <= LARGEST_BITS
        if not small and TorusRows.of(target) is None:
            raise UserError(
                f"no ground truth: {error}; and {target.n_states}^{target.length} states are too "
                "many to enumerate; without true samples: evaluation=target needs.ground_truth=null"
            ) from None
        return EnumeratedDraws()
    return cast(Kernel, SwendsenWang())
