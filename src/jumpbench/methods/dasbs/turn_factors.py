"""What exact turns say, as a method: nothing is trained, and the draws are not judged."""

from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.methods.common.base import Method
from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.methods.dasbs.curie_weiss import CurieWeiss
from jumpbench.methods.dasbs.exact_turns import ExactTurns
from jumpbench.methods.dasbs.sampler import Grid
from jumpbench.processes.schedules import Schedule
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.draws import Draws

FIELD_PER_BETA = 4.0
"""K of a square lattice of spins in mean field over its beta: every site has four neighbours."""


class TurnFactors(Method):
    """Exact turns on the Curie-Weiss magnet of D spins with K = 4 beta.

    Results: ``restoring_factor`` and ``unsettled`` (how far in total variation the balanced fixed
    point still moves, which a factor presumes to be 0) of
    :class:`~jumpbench.methods.dasbs.exact_turns.ExactTurns`; ``imbalance@N`` after N = 0 .. turns
    turns from the coupling with all ends in one mode, 1/2 of at most 1/2.

    Args:
        spins: D.
        beta: of the lattice that the magnet stands for.
        schedule: gamma_t of the uniform reference; alpha = 0 is memoryless.
        n_steps: tau-leaping steps M.
        start: first time of their grid, above 0 if memoryless.
        memoryless: paths start from the uniform source, otherwise from the two constant states.
        corrected: with the corrector of the solved bridge, otherwise with the constant 1.
        turns: of the imbalances.
        seed: of the unjudged draws.

    Raises:
        UserError: fewer than two spins, or no turns.
    """

    def __init__(
        self,
        spins: int,
        beta: float,
        schedule: Schedule,
        n_steps: int,
        start: float = 0.0,
        memoryless: bool = False,
        corrected: bool = True,
        turns: int = 10,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        if spins < 2 or turns < 1:
            raise UserError(f"spins = {spins} and turns = {turns}: use at least 2 spins and 1 turn")
        self.n_turns = turns
        self.turns = ExactTurns(
            CurieWeiss(spins, FIELD_PER_BETA * beta),
            Reference(UniformProcess(2), schedule),
            Grid.uniform(schedule, n_steps, start),
            memoryless,
            corrected,
        )

    def draw(self, batch: Any, generator: torch.Generator) -> Draws:
        """Numbers of up spins (64, 1) under the target itself."""
        law = self.turns.target.law.to(generator.device)
        return Draws(torch.multinomial(law, 64, replacement=True, generator=generator)[:, None])

    def further_results(self) -> dict[str, float]:
        # The test stage switches derivatives off, forward ones too.
        with torch.inference_mode(False):
            turns, n = self.turns, self.n_turns
            imbalances = turns.imbalances(turns.one_mode, n)
            values = {f"imbalance@{i}": value for i, value in enumerate(imbalances)}
            values["restoring_factor"], values["unsettled"] = turns.restoring_factor()
        return values
