"""How far a controller phase gets, turn by turn, as the README of DASBS says: by enumeration.

Ising 3x3 at beta 0.5, the constant source, 50 time steps. A turn regresses on the paths of the
control before it, exactly, with the corrector of the Schrödinger bridge.
"""

import functools

import pytest
import torch

from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.methods.dasbs.sampler import Grid
from jumpbench.methods.dasbs.tau_leaping_law import sampler_law
from jumpbench.metrics.histogram import total_variation
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising

LAW = enumerate_law(Ising(3, 0.5, dtype=torch.float64))
STATES = LAW.states.long()
DISTANCE = (STATES[:, None] != STATES).sum(-1)
FLIPPED = torch.arange(512)[:, None] ^ (1 << (8 - torch.arange(9)))
STARTS = torch.zeros(2, 512, dtype=torch.float64)
STARTS[0, 0] = STARTS[1, -1] = 0.5


class Turns:
    """Exact controls on the grid, and how far from the target their samplers end."""

    def __init__(self, gamma):
        self.reference = Reference(UniformProcess(2), ModifiedLogLinear(gamma, 0.5))
        self.grid = Grid.uniform(self.reference.schedule, 50)
        self.times = [float(t) for t in self.grid.times[: len(self.grid.noise)]]
        between = self.kernel(0.0, 1.0)
        phihat_1 = torch.ones(512, dtype=torch.float64)
        for _ in range(500):
            phihat_1 = between.T @ (STARTS.sum(0) / (between @ (LAW.probs / phihat_1)))
        self.phi_1 = LAW.probs / phihat_1

    @functools.cache  # noqa: B019  (two instances, which live as long as the test)
    def kernel(self, s, t):
        noise = self.reference.schedule.integral(*(torch.tensor(v).double() for v in (s, t)))
        site = self.reference.process.kernel(noise)
        return site[0, 0] ** (9 - DISTANCE) * site[0, 1] ** DISTANCE

    def ends(self, control):
        """Joint law (2, 512) of starts and ends under log-ratios (512, 9) at each time."""
        at = iter(control)
        return sampler_law(
            lambda x, t: next(at).unsqueeze(-1).expand(-1, -1, 2), STARTS, STATES, self.grid
        )

    def error(self, control):
        return float(total_variation(self.ends(control).sum(0), LAW.probs))

    def optimum(self):
        phis = [self.kernel(t, 1.0) @ self.phi_1 for t in self.times]
        return [(phi[FLIPPED] / phi[:, None]).log() for phi in phis]

    def turn(self, control):
        """The mean of the corrected target's ratios over the ends of these paths, given X_t."""
        ratios = self.phi_1[FLIPPED] / self.phi_1[:, None]
        ends = self.ends(control) / self.kernel(0.0, 1.0)[[0, -1]]
        fitted = []
        for t in self.times:
            before, after = self.kernel(0.0, t)[[0, -1]], self.kernel(t, 1.0)
            mass = (before * (ends @ after.T)).sum(0)[:, None]
            parts = zip(before, ends, strict=True)
            sums = sum(b[:, None] * (after @ (end[:, None] * ratios)) for b, end in parts)
            fitted.append(torch.where(mass > 0, sums / mass, 1.0).clamp(min=1e-12).log())
        return fitted


@pytest.mark.parametrize(
    ("gamma", "best", "left"),
    [
        (1.0, 0.010, [0.55, 0.31, 0.20, 0.11, 0.07, 0.04]),
        (0.25, 0.004, [0.31, 0.13, 0.07, 0.03, 0.02, 0.01]),
    ],
)
def test_errors_of_the_optimum_and_of_turns(gamma, best, left):
    turns = Turns(gamma)
    assert turns.error(turns.optimum()) == pytest.approx(best, abs=5e-4)
    control = [torch.zeros(512, 9, dtype=torch.float64)] * len(turns.times)
    for expected in left:
        control = turns.turn(control)
        assert turns.error(control) == pytest.approx(expected, abs=5.001e-3)
