"""``jumpbench check``: right samplers pass all oracles, each wrong one fails its own."""

import sys
from functools import partial

import numpy as np
import pytest
import torch

from jumpbench.cli.main import main
from jumpbench.samplers.annealed_importance import anneal
from jumpbench.samplers.chain import ChainInfo, accepts, share
from jumpbench.samplers.draws import Draws
from jumpbench.samplers.mcmc.gibbs import BlockedGibbs, RandomScanGibbs, SystematicGibbs
from jumpbench.samplers.mcmc.langevin import DiscreteLangevin, step_size
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.samplers.mcmc.metropolis import MultiSiteMetropolis, SingleSiteMetropolis
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis
from jumpbench.samplers.oracles.finding import normal_of_chi_squared
from jumpbench.samplers.oracles.of_draws import of_sampler
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
        (SeedIgnored, {"seeds", "global random numbers"}),
        (CostNotCounted, {"cost"}),
        (StaysWhereItIs, {"reaches", "seeds"}),
        (OtherType, {"states"}),
        (ForeignSymbols, {"stationarity", "reaches", "states"}),
        (RaisesForMany, {"stationarity"}),
        (InPlace, {"input"}),
        (OfNumPy, {"global random numbers"}),
        (StatesAlone, {"runs"}),
        (Raises, {"runs"}),
    ],
)
def test_a_wrong_kernel_fails_the_oracle_of_what_is_wrong(kernel, expected):
    assert failed(of_kernel(kernel())) == expected


def annealed(target, n, generator):
    run = anneal(
        target, SystematicGibbs(), 1, n, generator, torch.linspace(0, 1, 5, dtype=torch.double)
    )
    return Draws(run.x[0], run.log_weights[0], run.cost)


def forgotten(target, n, generator):
    """The weights of the draws are not there."""
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, None, drawn.cost)


def of_the_wrong_law(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, -drawn.log_weights, drawn.cost)


def of_another_constant(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, drawn.log_weights + 0.5, drawn.cost)


def half(target, n, generator):
    return annealed(target, n // 2, generator)


def a_tensor(target, n, generator):
    return annealed(target, n, generator).samples


def uncounted(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples, drawn.log_weights)


def of_foreign_symbols(target, n, generator):
    drawn = annealed(target, n, generator)
    return Draws(drawn.samples - 1, drawn.log_weights, drawn.cost)


def unseeded(target, n, generator):
    return annealed(target, n, torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (annealed, set()),
        (forgotten, {"law"}),
        (of_the_wrong_law, {"weights", "law"}),
        (of_another_constant, {"weights"}),
        (half, {"runs"}),
        (a_tensor, {"runs"}),
        (uncounted, {"cost"}),
        (of_foreign_symbols, {"law"}),
        (unseeded, {"seeds"}),
    ],
)
def test_a_wrong_sampler_of_weighted_draws_fails(draw, expected):
    found = failed(of_sampler(lambda target: lambda n, generator: draw(target, n, generator)))
    # Draws that are all the same 32 times over have no spread to be within.
    assert found - ({"weights", "law"} if draw is unseeded else set()) == expected


def test_what_is_returned_instead_is_named():
    def words(found):
        return " ".join(each.words for each in found)

    assert "returns Tensor: return states and a ChainInfo" in words(of_kernel(StatesAlone()))
    assert "returns Tensor: return Draws" in words(of_sampler(lambda t: partial(a_tensor, t)))
    assert "it returned symbol 200; there are 0 to 1" in words(of_kernel(ForeignSymbols()))
    assert "asked for 256 draws it returns 128" in words(of_sampler(lambda t: partial(half, t)))


def test_the_normal_number_of_a_chi_squared_one():
    from scipy import stats

    for degrees, value in ((15, 30.0), (80, 120.0), (7, 3.0)):
        exact = stats.norm.isf(stats.chi2.sf(value, degrees))
        assert normal_of_chi_squared(value, degrees) == pytest.approx(exact, abs=0.03)


OWN = """
from jumpbench.samplers.mcmc.other_symbol import OtherSymbolMetropolis


class Mine(OtherSymbolMetropolis):
    def __init__(self, told=1.0):
        self.told = told

    def __call__(self, target, x, steps, generator=None):
        x, info = super().__call__(target, x, steps, generator)
        return x, info._replace(energy_evaluations=self.told * info.energy_evaluations)


def nothing(a, b):
    return a
"""
GIBBS = "kernel={_target_: jumpbench.samplers.mcmc.gibbs.SystematicGibbs}"


@pytest.fixture
def folder(project, monkeypatch):
    (project / "own_kernel.py").write_text(OWN)
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))
    sys.modules.pop("own_kernel", None)


def test_the_command_prints_a_line_for_each_oracle(folder, capsys):
    assert main(["check", "own_kernel.Mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8 and all(line.startswith(("passed", "not app")) for line in lines)
    assert main(["check", "own_kernel.Mine", "told=0.5"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (wrong,) = [line for line in lines if line.startswith("failed")]
    assert "64 chains of 7 steps made 512 energy evaluations and reported 256" in wrong


@pytest.mark.parametrize("name", ["annealing.AnnealedParticles", "chains.Chains"])
def test_methods_of_the_suite_pass(folder, capsys, name):
    words = [f"jumpbench.methods.unnormalised.{name}", GIBBS]
    words += ["burn_in=8", "spacing=1", "collections=4"] if "Chains" in name else []
    assert main(["check", *words]) == 0
    assert "failed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "which sampler? give one: jumpbench check mine.MySampler"),
        (["own_kernel.Mein"], "own_kernel has no 'Mein'; did you mean 'Mine'?"),
        (["own_kernel.Mine", "tld=1"], "cannot be made: TypeError"),
        (["own_kernel.nothing"], "is called with (a, b): a sampler is called with (target, x"),
        (["own_kernel.nothing", "a=1"], "is no class, and takes no a="),
        (["os.system"], "a configuration may not call 'os.system'"),
        (["jumpbench.methods.unnormalised.chains.Chains"], "its arguments are key=value"),
    ],
)
def test_what_is_no_sampler_is_told_in_a_line(folder, capsys, words, told):
    assert main(["check", *words]) == 2
    shown = capsys.readouterr().err
    assert told in shown and shown.count("\n") == 1
