"""Turns of adjoint matching without a network and without sampling, on the Curie-Weiss magnet.

A turn is one step of the iteration inside a controller phase: simulate with the present control,
regress on one's own paths. From a source that is as symmetric as the target everything depends on
the number k of up spins alone, so a turn is a map of couplings: tensors (S, D + 1), the joint law
of the start and of k at t = 1. The S starts are the two constant configurations (down, up); a
memoryless reference forgets its start, and S is 1.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.special import xlogy

from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.methods.dasbs.curie_weiss import CurieWeiss, flip_ratios, log_choose
from jumpbench.methods.dasbs.sampler import Grid
from jumpbench.metrics.histogram import total_variation
from jumpbench.processes.schedules import as_tensor

_CHUNK = 2**21
"""Entries of a temporary tensor."""


@dataclass(frozen=True)
class ExactTurns:
    """The map of one turn.

    Args:
        target: the magnet.
        reference: uniform flips of N = 2 symbols.
        grid: of tau-leaping.
        memoryless: from the uniform source, which is forgotten; otherwise from the constant one.
        corrected: with the corrector of the solved bridge, log Phihat of
            phihat_1 = sum over the starts of p(x | start) (both have the same weight, by symmetry);
            otherwise with the constant corrector 1 of stage 1. A memoryless reference has none.
    """

    target: CurieWeiss
    reference: Reference
    grid: Grid
    memoryless: bool = False
    corrected: bool = True

    @cached_property
    def starts(self) -> Tensor:
        """Joint law of the start and of its k, (S, D + 1)."""
        if self.memoryless:
            return self.target.log_states.softmax(0).unsqueeze(0)
        starts = self.target.up.new_zeros(2, self.target.spins + 1)
        starts[0, 0] = starts[1, -1] = 0.5
        return starts

    def log_from_starts(self, noise: Tensor) -> Tensor:
        """log p(x | start) of one state x with k up spins after ``noise``, (S, D + 1)."""
        up, spins = self.target.up, self.target.spins
        if self.memoryless:
            return -spins * up.new_full((1, spins + 1), 2.0).log()
        flip = self.reference.process.move_probability(noise)
        flips = torch.stack([up, spins - up])
        return xlogy(flips, flip) + (spins - flips) * torch.log1p(-flip)

    @cached_property
    def log_kernel(self) -> Tensor:
        """log p(x_1 | start), (S, D + 1)."""
        return self.log_from_starts(as_tensor(self.reference.schedule.integral(0.0, 1.0)))

    @cached_property
    def targets(self) -> Tensor:
        """nu-ratio over Phihat at x_1 for a down and for an up spin that is flipped, (2, D + 1)."""
        potential = self.target.log_nu
        if self.corrected and not self.memoryless:
            potential = potential - self.log_kernel.logsumexp(0)
        return flip_ratios(potential).exp()

    @cached_property
    def solved(self) -> Tensor:
        """The coupling of the solved bridge, where every turn would stay if time did not leap."""
        if self.memoryless:
            return self.target.law.unsqueeze(0)
        per_state = self.log_kernel - self.log_kernel.logsumexp(0)
        return (per_state + self.target.law.log()).exp()

    @cached_property
    def flips(self) -> Tensor:
        """By grid time (M,): the chance that a spin of x_t differs at x_1."""
        times = torch.tensor(self.grid.times[:-1], dtype=torch.float64)
        return self.reference.process.move_probability(self.reference.schedule.integral(times, 1.0))

    @cached_property
    def others(self) -> tuple[Tensor, Tensor]:
        """P(m other spins are up at x_1 | k up at t), beside a down and beside an up spin of x_t.

        Both (M, D + 1, D + 1). Rows without such a spin mean nothing.
        """
        flip = self.flips.unsqueeze(1).expand(-1, self.target.spins + 1)
        up = self.target.up
        downs = self.target.spins - up
        beside_down = self._number_up((downs - 1).clamp(min=0), flip, up, flip)
        return beside_down, self._number_up(downs, flip, (up - 1).clamp(min=0), flip)

    @cached_property
    def before(self) -> Tensor:
        """p(x_t | start) of one state with k up spins, over the larger of the starts; (M, S, D+1).

        0 where no start leads.
        """
        times = torch.tensor(self.grid.times[:-1], dtype=torch.float64)
        noise = self.reference.schedule.integral(torch.zeros(()).double(), times)
        logs = torch.stack([self.log_from_starts(n) for n in noise])
        return (logs - logs.amax(1, keepdim=True).clamp(min=-1e300)).exp()

    def controls(self, coupling: Tensor) -> Tensor:
        """Phi for the flip of a down and of an up spin, by grid time and k; (M, 2, D + 1).

        The mean of the adjoint target given x_t over the bridges of the coupling; the target
        belongs to the same spin at x_1. 1 where no path comes by.
        """
        ends = coupling / (self.target.log_states + self.log_kernel).exp()
        of_down, of_up = self.targets

        def mean(beside: Tensor, is_up: Tensor) -> Tensor:
            """``is_up`` (M,): the chance that the spin is up at x_1."""
            is_up = is_up.view(-1, 1, 1)

            def sums(if_down: Tensor, if_up: Tensor) -> Tensor:
                other_up = torch.cat([if_up[:, 1:], if_up.new_zeros(len(if_up), 1)], 1)
                sites = ((1 - is_up) * if_down + is_up * other_up) @ beside.mT
                return (self.before * sites).sum(1)

            mass = sums(ends, ends)
            value = sums(ends * of_down, ends * of_up) / torch.where(mass > 0, mass, 1.0)
            return torch.where(mass > 0, value, 1.0)

        beside_down, beside_up = self.others
        return torch.stack([mean(beside_down, self.flips), mean(beside_up, 1 - self.flips)], 1)

    def leaps(self, controls: Tensor) -> Tensor:
        """P(k' | k) of every step of tau-leaping, all spins at once; (M, D + 1, D + 1)."""
        noise = torch.tensor(self.grid.noise, dtype=torch.float64)
        flip = controls * noise.view(-1, 1, 1) / 2
        flip = torch.where(flip > 1, 0.0, flip)  # such a site stays put
        up = self.target.up
        return self._number_up(self.target.spins - up, flip[:, 0], up, flip[:, 1])

    def _number_up(self, downs: Tensor, rise: Tensor, ups: Tensor, fall: Tensor) -> Tensor:
        """Law of the number of up spins once each of ``downs`` rose and each of ``ups`` fell.

        Numbers (D + 1,), chances (M, D + 1), result (M, D + 1, D + 1).
        """
        spins = self.target.spins
        stay = _binomial(ups, 1 - fall, self.target.up)
        come = _binomial(downs, rise, self.target.up).flip(-1)
        few = max(1, _CHUNK // (spins + 1) ** 3)
        return torch.cat(
            [
                # windows[..., n, i] = stay[n - D + i]: row by row the convolution of the two laws
                (pad(part, (spins, 0)).unfold(-1, spins + 1, 1) * other.unsqueeze(-2)).sum(-1)
                for part, other in zip(stay.split(few), come.split(few), strict=True)
            ]
        )

    def turn(self, coupling: Tensor) -> Tensor:
        """The coupling of the control that is regressed on paths with these ends."""
        law = self.starts
        for leap in self.leaps(self.controls(coupling)):
            law = law @ leap
        return law

    def tilt(self, coupling: Tensor) -> float:
        """P(most spins are up at t = 1) - 1/2; 1/2 if all paths end in that mode."""
        return float(coupling.sum(0) @ self.target.mode) / 2

    def imbalances(self, coupling: Tensor, turns: int) -> list[float]:
        """|tilt| before the first turn and after each."""
        values = [abs(self.tilt(coupling))]
        for _ in range(turns):
            coupling = self.turn(coupling)
            values.append(abs(self.tilt(coupling)))
        return values

    @cached_property
    def one_mode(self) -> Tensor:
        """All paths end in the mode of up spins, with its own law, whatever their start."""
        law = self.target.law * self.target.mode.clamp(min=0)
        return law / law.sum() * self.starts.sum(1, keepdim=True)

    def restoring_factor(self, turns: int = 8, settle: int = 20) -> tuple[float, float]:
        """By what a turn multiplies a small tilt: inside (-1, 1) the balance comes back.

        The leading eigenvalue of the turn's derivative at its balanced fixed point, of those whose
        direction shifts weight between the modes: the ratio of the tilts after ``turns`` and one
        turn less, with forward-mode derivatives. The fixed point is where ``settle`` turns, made
        symmetric, lead from the solved bridge; the second value is by how much (total variation)
        the last of them moved, which should be next to nothing.
        """
        balanced, moved = self.solved, 0.0
        for _ in range(settle):
            after = self.turn(balanced)
            after = (after + after.flip(0, 1)) / 2
            balanced, moved = after, float(total_variation(after, balanced))
        change = balanced * (2 * self.target.up / self.target.spins - 1)
        change = change - balanced * change.sum(1, keepdim=True) / balanced.sum(1, keepdim=True)
        factor = self.tilt(change)
        for _ in range(turns):
            change = torch.func.jvp(self.turn, (balanced,), (change / factor,))[1]
            factor = self.tilt(change)
        return factor, moved


def _binomial(n: Tensor, p: Tensor, k: Tensor) -> Tensor:
    """P(k of n) with chance p: n (K,), p (M, K), k (K',) -> (M, K, K'); 0 above n."""
    n, p = n.unsqueeze(-1), p.unsqueeze(-1)
    return log_choose(n, k).exp() * p**k * (1 - p) ** (n - k).clamp(min=0)
