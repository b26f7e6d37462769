"""DRAKES: its KL by enumeration, and what it converges to with and without it."""

import itertools
from functools import partial

import pytest
import torch
from torch import nn

from jumpbench.methods.sgdd.baselines.common import sampling_times
from jumpbench.methods.sgdd.baselines.drakes import Drakes
from jumpbench.methods.sgdd.problems.design import DesignProblem
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear
from jumpbench.seeding import make_generator

OLD = torch.tensor([0.5, 0.3, 0.2])
REWARD = torch.tensor([0.0, 0.4, 1.0])


class Linear(nn.Module):
    """Activity sum_i reward[x_i], of symbols or weights."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(REWARD.clone())

    def forward(self, x):
        rows = self.table[x] if not x.is_floating_point() else x @ self.table
        return rows.sum(-1, keepdim=True)


class Sites(nn.Module):
    """Log-scores of independent sites, the same at every noise; the other site shifts them."""

    def __init__(self, length, coupling=0.0):
        super().__init__()
        self.logits = nn.Parameter(OLD.log().repeat(length, 1))
        self.coupling = coupling

    def forward(self, x, noise):
        weights = x if x.is_floating_point() else nn.functional.one_hot(x, 4).float()
        seen = weights.sum(1, keepdim=True) - weights
        return torch.cat([self.logits + self.coupling * seen[..., :3], seen[..., :1] * 0], -1)


def make(length, coupling=0.0, **options):
    problem = DesignProblem(Linear(), length, n_states=3)
    optimizer = partial(torch.optim.Adam, lr=0.02)
    return Drakes(
        Sites(length, coupling), MaskedProcess(3), problem, optimizer=optimizer, **options
    )


def trained_law(method, updates, rate=0.05):
    generator = make_generator(0, "test")
    optimizer = torch.optim.Adam(method.network.parameters(), lr=rate)
    average = 0
    for k in range(updates):
        x, divergence = method.paths(method.batch_size, generator)
        loss = method.kl_weight * divergence.mean() - method.problem.reward(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if k >= updates // 2:
            average = average + method.network.logits.detach().softmax(-1)
    return average / (updates - updates // 2)


@pytest.mark.parametrize("kl_weight", [0.5, 1.0])
def test_with_kl_it_converges_to_the_tilted_law(kl_weight):
    """One site: p_old(v) exp(r(v)/alpha) / Z. At low temperature gradients are nearly unbiased."""
    method = make(
        1, kl_weight=kl_weight, steps=3, differentiated=4, temperature=0.2, batch_size=512
    )
    expected = (OLD.log() + REWARD / kl_weight).softmax(-1)
    found = trained_law(method, 200)[0]
    assert float((found - expected).abs().sum() / 2) < 0.025
    assert float((OLD - expected).abs().sum() / 2) > 0.15  # what is to be learnt


def test_without_kl_it_converges_to_the_best_sequence():
    method = make(2, kl_weight=0.0, steps=3, differentiated=2, batch_size=64)
    assert bool((trained_law(method, 200, rate=0.2)[:, 2] > 0.98).all())
    draws = method.draw({"states": torch.zeros(500, 2)}, make_generator(0, "draw"))
    assert float((draws.samples == 2).double().mean()) > 0.97
    assert draws.cost.network_evaluations == 4 and int(draws.samples.max()) < 3


def test_the_divergence_is_that_of_the_paths():
    """Two coupled sites: every pattern of masks and symbols at every step."""
    method = make(2, coupling=0.7, steps=2, differentiated=0, kl_weight=1.0)
    with torch.no_grad():
        method.network.logits += torch.tensor([[0.5, -0.5, 0.0], [0.0, 0.2, -1.0]])
    times = [*sampling_times(2), None]
    hidden = [1.0 if t is None else 1 - float(torch.exp(-LogLinear().total(t))) for t in times]
    law = {(3, 3): 1.0}
    expected = 0.0
    for k in range(3):
        share = 1.0 if k == 2 else 1 - hidden[k + 1] / hidden[k]
        new_law = {}
        for state, odds in law.items():
            x, noise = torch.tensor([state]), torch.ones(1)
            now, old = (
                net(x, noise)[0, :, :3].softmax(-1).detach() for net in (method.network, method.old)
            )
            choices = []
            for site in range(2):
                if state[site] != 3:
                    choices.append([(state[site], 1.0)])
                    continue
                expected += odds * share * float((now[site] * (now[site] / old[site]).log()).sum())
                moves = [(v, share * float(now[site, v])) for v in range(3)]
                choices.append([*moves, (3, 1 - share)])
            for (a, p), (b, q) in itertools.product(*choices):
                new_law[a, b] = new_law.get((a, b), 0.0) + odds * p * q
        law = new_law
    with torch.no_grad():
        x, divergence = method.paths(40_000, make_generator(1, "paths"))
    mean, error = float(divergence.mean()), float(divergence.std()) / 200
    assert abs(mean - expected) < 4.5 * error
    # The sequences themselves follow the law of the sampler.
    code = x.argmax(-1) @ torch.tensor([3, 1])
    found = torch.bincount(code, minlength=9) / 40_000
    for (a, b), p in law.items():
        if 3 not in (a, b):
            assert abs(float(found[3 * a + b]) - p) < 4.5 * (p * (1 - p) / 40_000) ** 0.5


def test_gradients_pass_the_last_steps_alone():
    method = make(3, steps=6, differentiated=0, kl_weight=0.0)
    x, divergence = method.paths(8, make_generator(0, "a"))
    assert not x.requires_grad and not divergence.requires_grad
    method.differentiated = 7
    x, _ = method.paths(8, make_generator(0, "a"))
    assert x.requires_grad
    torch.testing.assert_close(x.sum(-1), torch.ones(8, 3))
    assert set(x.detach().round(decimals=5).unique().tolist()) == {0.0, 1.0}
    assert all(not p.requires_grad for p in method.old.parameters())
