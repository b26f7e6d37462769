"""Annealed importance sampling and SMC as methods: powers chosen in a pilot run, then fixed."""

from typing import Any

import torch

from jumpbench.errors import UserError
from jumpbench.methods.unnormalised.base import TargetSampler
from jumpbench.samplers.annealed_importance import anneal, refined
from jumpbench.samplers.chain import Kernel
from jumpbench.samplers.draws import Draws
from jumpbench.seeding import make_generator
from jumpbench.stopwatch import Stopwatch
from jumpbench.targets.base import DiscreteTarget


class AnnealedParticles(TargetSampler):
    """Weighted particles at the end of the path from the uniform law; E[exp(log weight)] = Z.

    A part of a test batch is first annealed at powers chosen by the effective sample size, a pilot.
    Its powers, refined to as many as the budget has room for at the pilot's pace, are those of the
    run itself, whose weights are therefore unbiased. The cost counts both. Extras: ``system``, the
    number of a particle's system, ``powers``, how many there were, ``resampled``, how often the
    systems were, ``acceptance`` of the moves, ``draw_seconds`` of the run itself.

    Args:
        target: a positive law.
        kernel: moves the particles at every power.
        particles: of a system; it divides the batch. AIS: any number.
        steps: of the kernel at a power.
        pilot: particles of the pilot, at most the batch; its pace is that of as many.
        share: of the effective sample size that the pilot keeps from one power to the next.
        resample_below: SMC, see :func:`~jumpbench.samplers.annealed_importance.anneal`; None is
            AIS. The pilot is always resampled.
        powers: of the run itself where there is no budget; by default the pilot's number.
        seconds: a budget of pilot and run; a run's ``budget["energy_evaluations"]`` is another.
            Each is shared evenly among the test batches.
        kwargs: of :class:`TargetSampler`.

    Raises:
        UserError: counts below 1; a batch that is no whole number of systems.
    """

    def __init__(
        self,
        target: DiscreteTarget,
        kernel: Kernel,
        particles: int = 128,
        steps: int = 1,
        pilot: int = 8192,
        share: float = 0.5,
        resample_below: float | None = None,
        powers: int | None = None,
        seconds: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(target, **kwargs)
        if particles < 1 or steps < 1 or (powers or 1) < 1 or (seconds or 0) < 0:
            raise UserError(
                "annealing needs particles, steps and powers >= 1 and seconds >= 0, not "
                f"{particles}, {steps}, {powers} and {seconds}"
            )
        if pilot < particles:
            raise UserError(f"pilot={pilot} must be a system of {particles} particles at least")
        self.kernel, self.particles, self.steps, self.pilot = kernel, particles, steps, pilot
        self.share_kept, self.resample_below = share, resample_below
        self.powers, self.seconds = powers, seconds

    def test_generator(self, number: int) -> torch.Generator:
        kind = "AIS" if self.resample_below is None else "SMC"
        names = "test", kind, type(self.kernel).__name__
        return make_generator(self.seed, *names, number, device=self.device)

    def draw_chains(self, n: int, generator: torch.Generator) -> Draws:
        systems, left = divmod(n, self.particles)
        if left:
            raise UserError(
                f"{n} samples are no whole number of systems of {self.particles}: choose "
                "data.n_samples and data.batch_size that method.particles divides"
            )
        tried = min(systems, self.pilot // self.particles)
        watch = Stopwatch(self.device)
        pilot = anneal(
            self.target, self.kernel, tried, self.particles, generator, share=self.share_kept,
            steps=self.steps, resample_below=self.resample_below or 0.5,
        )  # fmt: skip
        taken = watch.finished()
        part = tried / systems
        number = self._room(len(pilot.powers) - 1, taken, n * pilot.cost.energy_evaluations, part)
        powers = refined(pilot.powers, number)
        watch = Stopwatch(self.device)
        run = anneal(
            self.target, self.kernel, systems, self.particles, generator, powers=powers,
            steps=self.steps, resample_below=self.resample_below,
        )  # fmt: skip
        seconds = watch.finished()
        ones = torch.ones(systems, self.particles, dtype=torch.float64)
        extras = {
            "powers": number * ones,
            "acceptance": float(run.acceptance) * ones,
            "draw_seconds": seconds * ones,
        }
        if self.resample_below is not None:
            extras["system"] = torch.arange(systems)[:, None] * ones
            extras["resampled"] = run.resampled.cpu()[:, None] * ones
        flat = {name: value.flatten() for name, value in extras.items()}
        return Draws(
            run.x.flatten(0, 1), run.log_weights.flatten(), pilot.cost.scaled(part) + run.cost, flat
        )  # fmt: skip

    def _room(self, number: int, seconds: float, energies: float, part: float) -> int:
        """Powers that the rest of the budget has room for, after a pilot of ``number`` powers with
        a ``part`` of the particles that took ``seconds``; all would have asked for ``energies``."""
        shares = [
            limit / self._count / max(spent, 1e-9) - part
            for limit, spent in (
                (self.seconds, seconds / part),
                (self.budget.get("energy_evaluations"), energies),
            )
            if limit
        ]
        wanted = int(number * min(shares)) if shares else self.powers or number
        return max(1, wanted)
