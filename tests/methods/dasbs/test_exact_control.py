"""What time discretisation alone leaves: the exact control of the bridge, on Ising 3x3."""

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


def test_its_total_variation_at_beta_028():
    """From the uniform source with gamma 1 and 50 time steps, as the table of exact errors says."""
    law = enumerate_law(Ising(3, 0.28, dtype=torch.float64))
    states = law.states.long()
    distance = (states[:, None] != states).sum(-1)
    flipped = torch.arange(512)[:, None] ^ (1 << (8 - torch.arange(9)))
    reference = Reference(UniformProcess(2), ModifiedLogLinear(1.0, 0.5))
    grid = Grid.uniform(reference.schedule, 50)

    def kernel(s, t):
        ends = (torch.tensor(v, dtype=torch.float64) for v in (s, t))
        site = reference.process.kernel(reference.schedule.integral(*ends))
        return site[0, 0] ** (9 - distance) * site[0, 1] ** distance

    source = torch.full((1, 512), 1 / 512, dtype=torch.float64)
    whole, phihat_1 = kernel(0.0, 1.0), torch.ones(512, dtype=torch.float64)
    for _ in range(500):
        phihat_1 = whole.T @ (source[0] / (whole @ (law.probs / phihat_1)))
    phi_1 = law.probs / phihat_1
    phis = [kernel(float(t), 1.0) @ phi_1 for t in grid.times[: len(grid.noise)]]
    control = iter([(phi[flipped] / phi[:, None]).log() for phi in phis])
    ends = sampler_law(
        lambda x, t: next(control).unsqueeze(-1).expand(-1, -1, 2), source, states, grid
    )
    assert float(total_variation(ends.sum(0), law.probs)) == pytest.approx(0.008, abs=5e-4)
