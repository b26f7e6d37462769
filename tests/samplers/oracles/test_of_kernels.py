"""Oracles of kernels: right ones pass all, each wrong one fails its own."""

import math

import numpy as np
import pytest
import torch

from jumpbench.samplers.chain import ChainInfo, accepts, share
from jumpbench.samplers.mcmc.gibbs import BlockedGibbs, RandomScanGibbs, SystematicGibbs
from jumpbench.samplers.mcmc.langevin import DiscreteLangevin, step_size
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.samplers.mcmc.metropolis import MultiSiteMetropolis, SingleSiteMetropolis
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis
from jumpbench.samplers.oracles.finding import normal_of_chi_squared
from jumpbench.samplers.oracles.of_kernels import of_kernel

KERNELS = {
    "sweeps": SystematicGibbs(),
    "random scan": RandomScanGibbs(),
    "blocks": BlockedGibbs(torch.eye(4).bool()),
    "single site": SingleSiteMetropolis(),
    "two sites": MultiSiteMetropolis(2),
    "other symbol": OtherSymbolMetropolis(),
    "locally balanced": LocallyBalanced(),
    "Langevin": DiscreteLangevin(step_size(0.2)),
    "lattice": LatticeMetropolis(),
}


def failed(found):
    return {each.oracle for each in found if each.passed is False}


def words(found):
    return " ".join(each.words for each in found)


@pytest.mark.parametrize("name", KERNELS)
def test_the_suites_kernels_pass(name):
    found = of_kernel(KERNELS[name])
    assert failed(found) == set(), found
    assert {each.oracle for each in found if each.passed} >= {"stationarity", "reaches", "seeds"}


class Metropolis:
    """Flips uniform sites; subclasses break one thing each."""

    def log_ratio(self, new, old):
        return new - old

    def __call__(self, target, x, steps, generator=None):
        x, log_p = x.clone(), target.log_prob(x)
        accepted = torch.zeros(len(x), dtype=torch.int32)
        for _ in range(steps):
            site = torch.randint(x.shape[1], (len(x), 1), generator=self.random(generator))
            shift = torch.randint(1, target.n_states, (len(x), 1), generator=generator)
            new = (x.gather(1, site) + shift) % target.n_states
            proposal = x.scatter(1, site, new.to(x.dtype))
            new_log_p = target.log_prob(proposal)
            accept = accepts(self.log_ratio(new_log_p, log_p), generator)
            x = torch.where(accept[:, None], proposal, x)
            log_p = torch.where(accept, new_log_p, log_p)
            accepted += accept
        return self.told(x, ChainInfo(share(accepted, steps), self.cost(steps), steps))

    def random(self, generator):
        return generator

    def cost(self, steps):
        return steps + 1

    def told(self, x, info):
        return x, info


class WrongAcceptance(Metropolis):
    def log_ratio(self, new, old):
        return (new - old) / 2


class Clamped(Metropolis):
    """Right on mild laws alone."""

    def log_ratio(self, new, old):
        return (new - old).clamp(min=-4)


class Twins(Metropolis):
    """The second half of a batch moves with the numbers of the first."""

    def __call__(self, target, x, steps, generator=None):
        half = (len(x) + 1) // 2
        seed = int(torch.randint(2**31, (), generator=generator))
        parts = [
            super(Twins, self).__call__(target, part, steps, torch.Generator().manual_seed(seed))
            for part in (x[:half], x[half:])
        ]
        share = torch.cat([info.acceptance for _, info in parts])
        return self.told(torch.cat([x for x, _ in parts]), parts[0][1]._replace(acceptance=share))


class SeedIgnored(Metropolis):
    def random(self, generator):
        return None


class CostNotCounted(Metropolis):
    def cost(self, steps):
        return 1


class StaysWhereItIs(Metropolis):
    def log_ratio(self, new, old):
        return torch.full_like(new, -torch.inf)


class OtherType(Metropolis):
    def told(self, x, info):
        return x.float(), info


class ForeignSymbols(Metropolis):
    def told(self, x, info):
        return x.index_fill(1, torch.tensor([0]), 200), info


class RaisesForMany(Metropolis):
    def told(self, x, info):
        if len(x) > 10_000:
            raise RuntimeError("too many")
        return x, info


class InPlace(Metropolis):
    def __call__(self, target, x, steps, generator=None):
        moved, info = super().__call__(target, x, steps, generator)
        return x.copy_(moved), info


class OfNumPy(Metropolis):
    def log_ratio(self, new, old):
        return new - old + 1e-9 * float(np.random.rand())


class NotANumber(Metropolis):
    def told(self, x, info):
        return x * math.nan, info


class OfBytesFails(Metropolis):
    def told(self, x, info):
        return x.index_put((torch.tensor([0]), torch.tensor([0])), torch.tensor([0])), info


class ShareAlone(Metropolis):
    def told(self, x, info):
        return x, info._replace(acceptance=0.5)


class StatesAlone(Metropolis):
    def told(self, x, info):
        return x


class Raises(Metropolis):
    def cost(self, steps):
        raise RuntimeError("no such thing")


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Metropolis, set()),
        (WrongAcceptance, {"stationarity"}),
        (Clamped, {"stationarity"}),
        (Twins, {"independence"}),
        (SeedIgnored, {"seeds", "global random numbers"}),
        (CostNotCounted, {"cost"}),
        (StaysWhereItIs, {"reaches", "seeds"}),
        (OtherType, {"states"}),
        (ForeignSymbols, {"states"}),
        (RaisesForMany, {"stationarity", "independence"}),
        (InPlace, {"input"}),
        (OfNumPy, {"global random numbers"}),
        (NotANumber, {"states"}),
        (OfBytesFails, {"states"}),
        (ShareAlone, {"runs"}),
        (StatesAlone, {"runs"}),
        (Raises, {"runs"}),
    ],
)
def test_a_wrong_kernel_fails_the_oracle_of_what_is_wrong(kernel, expected):
    assert failed(of_kernel(kernel())) == expected


def test_what_is_returned_instead_is_named():
    assert "returns Tensor: return states and a ChainInfo" in words(of_kernel(StatesAlone()))
    assert "returned the symbol 200; there are 0 to 1" in words(of_kernel(ForeignSymbols()))
    assert "became torch.float32" in words(of_kernel(NotANumber()))
    assert "given states of torch.uint8, which runs have" in words(of_kernel(OfBytesFails()))
    assert "no tensor with one share a chain" in words(of_kernel(ShareAlone()))


def test_the_normal_number_of_a_chi_squared_one():
    from scipy import stats

    for degrees, value in ((15, 30.0), (80, 120.0), (7, 3.0)):
        exact = stats.norm.isf(stats.chi2.sf(value, degrees))
        assert normal_of_chi_squared(value, degrees) == pytest.approx(exact, abs=0.03)
