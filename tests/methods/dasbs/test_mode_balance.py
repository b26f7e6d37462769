"""Whether the alternation keeps symmetric modes balanced: exactly, and with a network.

The fixed-point iteration (simulate with the present control, regress on its own paths) is carried
out by enumeration on Ising 3x3 at the critical temperature, from a control that prefers one symbol.
With the full conditional mean the imbalance dies out, the faster the finer the time steps are; with
the mean given the site's own symbol alone, which is what a network learns first, it grows until one
mode has everything.
"""

import functools
import itertools
import math
from functools import partial

import pytest
import torch
from lightning import Trainer
from torch import nn

from jumpbench.data.numbers import Numbers
from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.matching import DenoisingMatching
from jumpbench.methods.dasbs.module import DASBS
from jumpbench.methods.dasbs.sampler import Grid
from jumpbench.methods.dasbs.sources import ConstantSource
from jumpbench.methods.dasbs.tau_leaping_law import sampler_law
from jumpbench.metrics.lattice import lattice_metrics
from jumpbench.networks.state_perceptron import StatePerceptron
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising

TARGET = Ising(3, 0.4407, dtype=torch.float64)
LAW = enumerate_law(TARGET)
STATES = LAW.states.long()
SITES = torch.arange(9)
FLIPPED = torch.arange(512)[:, None] ^ (1 << (8 - SITES))
"""Index (512, 9) of every state with one site flipped."""
RATIOS = LAW.probs[FLIPPED] / LAW.probs[:, None]
REFERENCE = Reference(UniformProcess(2), ModifiedLogLinear(1.0, 0.5))
COARSE, FINE = (Grid.uniform(REFERENCE.schedule, n) for n in (12, 24))


@functools.cache
def kernel(s, t):
    """p(y at t | x at s), (512, 512)."""
    noise = REFERENCE.schedule.integral(torch.tensor(s).double(), torch.tensor(t).double())
    site = REFERENCE.process.kernel(noise)
    return math.prod(site[STATES[:, None, d], STATES[None, :, d]] for d in SITES)


def conditional_mean(coupling, t, of_the_site_alone):
    """E[nu-ratio at x_1, site d flipped | x_t], (512, 9), of paths with these ends (2, 512)."""
    ends = coupling / kernel(0.0, 1.0)[[0, -1]]
    before, after = kernel(0.0, t)[[0, -1]], kernel(t, 1.0)
    mass = (before * (ends @ after.T)).sum(0)[:, None].expand(-1, 9)
    sums = sum(
        b[:, None] * (after @ (e[:, None] * RATIOS)) for b, e in zip(before, ends, strict=True)
    )
    if of_the_site_alone:
        up = STATES == 1
        for which in (up, ~up):
            sums = torch.where(which, (sums * which).sum(), sums)
            mass = torch.where(which, (mass * which).sum(), mass)
    return torch.where(mass > 0, sums / mass, 1.0)


def imbalance(law):
    more_up = STATES.sum(-1) > 4
    return abs(float(law[..., more_up].sum()) - 0.5)


def turns(n, of_the_site_alone, share, grid):
    """Imbalance after every turn, of which a control takes over ``share`` in log space."""
    preference = torch.where(STATES == 0, 0.2, 0.0)  # of symbol 1
    controls = [preference.double() for _ in grid.noise]
    starts = torch.zeros(2, 512, dtype=torch.float64)
    starts[0, 0] = starts[1, -1] = 0.5
    found = []
    for _ in range(n + 1):
        times = iter(controls)

        def control(x, t, times=times):
            to_other = next(times).unsqueeze(-1)
            return to_other.expand(-1, -1, 2)

        coupling = sampler_law(control, starts, STATES, grid)
        found.append(imbalance(coupling.sum(0)))
        controls = [
            (1 - share) * old
            + share * conditional_mean(coupling, t, of_the_site_alone).clamp(min=1e-12).log()
            for old, t in zip(controls, grid.times, strict=False)
        ]
    return found


def test_exact_turns_restore_the_balance_of_the_modes():
    coarse, fine = (turns(12, of_the_site_alone=False, share=1.0, grid=g) for g in (COARSE, FINE))
    assert min(coarse[0], fine[0]) > 0.06
    assert fine[-1] < fine[0] / 3  # 0.062 to 0.018
    assert all(b < a for a, b in zip(fine[1:], fine[3:], strict=False))  # every other turn
    assert fine[-1] < coarse[-1] < coarse[0]


def test_turns_that_see_the_site_alone_gather_in_one_mode():
    found = turns(10, of_the_site_alone=True, share=0.3, grid=COARSE)
    assert found[0] < 0.07
    assert all(b > a for a, b in itertools.pairwise(found))
    assert found[-1] > 0.48


class SiteAlone(nn.Module):
    """A controller that sees its own site and the time: the same at every site."""

    def __init__(self, length, n_states, hidden=32):
        super().__init__()
        widths = n_states + 1, hidden, n_states
        self.net = nn.Sequential(
            nn.Linear(widths[0], widths[1]), nn.SiLU(), nn.Linear(widths[1], widths[2])
        )
        self.n_states = n_states

    def forward(self, x, t):
        symbol = nn.functional.one_hot(x, self.n_states).float()
        return self.net(torch.cat([symbol, t[:, None, None].expand(*x.shape, 1)], -1))


@pytest.mark.parametrize("guided", [False, True])
def test_a_network_does_as_the_exact_turns_unless_it_is_guided(guided):
    """Given the ratios of the target at hand, even a network of the site alone keeps both modes."""
    target = Ising(3, 0.4407)
    matcher = partial(
        Matcher, optimizer=partial(torch.optim.AdamW, lr=5e-3, weight_decay=0.0), pairs=128,
        times=2, buffer_size=512, refresh_every=5,
    )  # fmt: skip
    method = DASBS(
        target,
        schedule=ModifiedLogLinear(1.0, 0.5),
        controller=partial(matcher, network=SiteAlone, steps=120),
        corrector=partial(
            matcher, network=partial(StatePerceptron, harmonics=None), steps=1,
            matching=DenoisingMatching(),
        ),
        source=ConstantSource,
        n_steps=16,
        guided=guided,
    )  # fmt: skip
    trainer = Trainer(
        max_steps=120, max_epochs=-1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(method, Numbers())
    draws = method.sample(1024, torch.Generator().manual_seed(0))
    found = lattice_metrics(target, draws.samples, LAW.states, replicates=1)["mode_imbalance"]
    # 1024 balanced samples show 0.013 on average.
    assert found < 0.1 if guided else found > 0.45
    assert draws.cost.energy_evaluations == (16 * (1 + 9) if guided else 0)
