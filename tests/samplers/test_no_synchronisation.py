"""Step loops never ask the device for a value: on fake tensors, any such question raises."""

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from jumpbench.samplers.leaping import euler, tau_leaping
from jumpbench.samplers.mcmc.gibbs import blocked_gibbs, random_scan_gibbs, sweep_gibbs
from jumpbench.samplers.mcmc.langevin import discrete_langevin, expected_changes, step_size
from jumpbench.samplers.mcmc.locally_balanced import locally_balanced
from jumpbench.samplers.mcmc.metropolis import (
    LogProbDelta,
    multi_site_metropolis,
    single_site_metropolis,
)
from jumpbench.samplers.resampling import multinomial, residual, systematic
from jumpbench.samplers.weights import effective_sample_size, log_normaliser

B, D, N = 5, 4, 3


def log_prob(x):
    return x.float().sum(-1)


def log_ratios(x):
    return torch.arange(N, device=x.device) - x[..., None].float()


def conditional(x, site):
    return torch.arange(N, device=x.device).float().expand(len(x), N)


def single_site(x):
    delta = LogProbDelta(log_prob, x)
    return single_site_metropolis(delta, x, 9, N, commit=delta.commit)


def multi_site(x):
    return multi_site_metropolis(LogProbDelta(log_prob, x), x, 3, N, 2)


RUNS = {
    "single_site": single_site,
    "multi_site": multi_site,
    "random_scan_gibbs": lambda x: random_scan_gibbs(conditional, x, 3),
    "sweep_gibbs": lambda x: sweep_gibbs(conditional, x, 2),
    "blocked_gibbs": lambda x: blocked_gibbs(
        log_ratios, x, torch.ones(1, D, dtype=torch.bool, device=x.device), 2
    ),
    "locally_balanced": lambda x: locally_balanced(log_ratios, x, 3),
    "langevin": lambda x: discrete_langevin(log_prob, log_ratios, x, 3, step_size(0.2)),
    "langevin_adaptive": lambda x: discrete_langevin(
        log_prob, log_ratios, x, 3, expected_changes(2.0)
    ),
    "tau_leaping": lambda x: tau_leaping(lambda x, t: log_ratios(x).abs(), x, [0.0, 0.5, 1.0]),
    "euler": lambda x: euler(lambda x, t: log_ratios(x).abs(), x, [0.0, 0.5, 1.0]),
    "resampling": lambda x: [f(x.float()) for f in (systematic, multinomial, residual)],
    "weights": lambda x: (effective_sample_size(x.float()), log_normaliser(x.float())),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_no_value_is_asked_for(run):
    with FakeTensorMode():
        run(torch.zeros(B, D, dtype=torch.long, device="cuda"))


def test_the_check_itself_catches_a_question():
    with FakeTensorMode(), pytest.raises(DataDependentOutputException):
        torch.zeros(B, device="cuda").sum().item()
