"""Step loops never ask the device for a value: on fake tensors, any such question raises."""

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from jumpbench.samplers.leaping import euler, tau_leaping
from jumpbench.samplers.mcmc.gibbs import BlockedGibbs, RandomScanGibbs, SystematicGibbs
from jumpbench.samplers.mcmc.langevin import DiscreteLangevin, expected_changes, step_size
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.samplers.mcmc.metropolis import MultiSiteMetropolis, SingleSiteMetropolis
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis
from jumpbench.samplers.resampling import multinomial, residual, systematic
from jumpbench.samplers.weights import effective_sample_size, log_normaliser
from jumpbench.targets.base import Target
from jumpbench.targets.ising import Ising
from jumpbench.targets.tempered import Tempered

B, D, N = 5, 4, 3


class Sum(Target):
    def log_prob(self, x):
        return x.float().sum(-1)

    def neighbor_log_ratios(self, x):
        return torch.arange(self.n_states, device=x.device) - x[..., None].float()


def rates(x, t):
    return Sum(D, N).neighbor_log_ratios(x).abs()


KERNELS = {
    "single_site": SingleSiteMetropolis(),
    "other_symbol": OtherSymbolMetropolis(),
    "multi_site": MultiSiteMetropolis(2),
    "random_scan_gibbs": RandomScanGibbs(),
    "systematic_gibbs": SystematicGibbs(),
    "blocked_gibbs": BlockedGibbs(torch.ones(1, D)),
    "locally_balanced": LocallyBalanced(),
    "langevin": DiscreteLangevin(step_size(0.2)),
    "langevin_adaptive": DiscreteLangevin(expected_changes(2.0)),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("target", [Sum(D, N), Tempered(Sum(D, N), 0.3)], ids=["plain", "tempered"])
def test_no_kernel_asks_for_a_value(kernel, target):
    with FakeTensorMode(allow_non_fake_inputs=True):
        x, info = kernel(target, torch.zeros(B, D, dtype=torch.long, device="cuda"), 9)
        assert x.shape == (B, D) and info.acceptance.shape == (B,)


def test_lattice_metropolis_asks_for_no_value():
    """Nor at a power that is a number on the GPU, as a time of an annealed roll-out is."""
    target = Ising(3, 0.2)
    with FakeTensorMode(allow_non_fake_inputs=True):
        x = torch.zeros(B, 9, dtype=torch.long, device="cuda")
        LatticeMetropolis()(target, x, 9)
        LatticeMetropolis(current=True)(Tempered(target, torch.ones((), device="cuda")), x, 9)


RUNS = {
    "tau_leaping": lambda x: tau_leaping(rates, x, [0.0, 0.5, 1.0]),
    "euler": lambda x: euler(rates, x, torch.linspace(0, 1, 3)),
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
