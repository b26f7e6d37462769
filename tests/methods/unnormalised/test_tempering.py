import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.exact_laws import ExactEvaluation
from jumpbench.methods.unnormalised.tempering import TemperedChains
from jumpbench.samplers.mcmc.gibbs import BlockedGibbs, SystematicGibbs
from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced
from jumpbench.samplers.mcmc.metropolis import SingleSiteMetropolis
from jumpbench.targets.boltzmann import SpinGlass
from support import quiet_trainer

GLASS = SpinGlass(3, 2.0, disorder=1)


def chains(kernel=None, **options):
    options = {"burn_in": 20, "spacing": 4, "collections": 8, "replicas": 4} | options
    kernel = kernel or SystematicGibbs()
    return TemperedChains(GLASS, kernel, evaluation=ExactEvaluation(GLASS), **options)


def run(method, n=512):
    quiet_trainer(1).test(method, datamodule=Numbers(n, n), verbose=False)
    return method.results


def test_it_has_the_law_of_a_cold_glass_and_says_how_it_got_there():
    values = run(chains(spacing=10), 2048)
    assert values["energy_tv"] < 3 * values["energy_tv_floor"]
    assert values["mode_imbalance"] < 4 * values["mode_imbalance_floor"]
    assert values["moves_per_chain"] == 20 + 8 * 10 and values["rhat"] < 1.1
    assert 0.2 < values["swap_rate"] < 1 and 0 < values["barrier"] < 3
    assert values["round_trips"] > 10
    # Sweeps of nine sites at four powers; starts are counted once per replica.
    assert values["energy_evaluations"] == 4 * (1 + 100 * 9) / 8
    assert values["sequential_steps"] == 100 * 9 / 8


@pytest.mark.parametrize("kernel", [SystematicGibbs(), SingleSiteMetropolis(), LocallyBalanced(),
                                    BlockedGibbs(torch.eye(9))])  # fmt: skip
def test_every_kernel_starts_once_a_replica(kernel):
    """A table of neighbours is asked for at the start and after each of the 20 + 8 x 4 moves.
    Blocks of sites know no energy, so that each of the nine calls asks for one a replica."""
    x = torch.zeros(1, 9, dtype=torch.long)
    start, moved = (kernel(GLASS, x, moves)[1].cost.energy_evaluations for moves in (0, 1))
    values = run(chains(kernel), 64)
    calls = 9 if start == 0 else 0
    assert values["energy_evaluations"] == 4 * (start + 52 * (moved - start) + calls) / 8


def test_swaps_of_single_rounds_are_those_of_many():
    """One ladder's rounds, told one by one and all at once: pairs without a turn count nothing."""
    method = chains()
    rates = []
    for spacing in (1, 12):
        rng = torch.Generator().manual_seed(3)
        x = method.start(8, rng)
        method.collect(x, spacing, 12 // spacing, rng)
        rates.append({k: method.observed()[k] for k in ("swap_rate", "barrier")})
    assert rates[0] == pytest.approx(rates[1], rel=1e-6)


def test_the_ladder_is_tuned_in_the_burn_in_alone():
    method, rng = chains(), torch.Generator().manual_seed(0)
    x = method.start(16, rng)
    even = method._powers
    x, _ = method.go_on(x, 20, rng)
    assert not torch.equal(method._powers, even) and method._powers[-1] == 1
    fixed = method._powers
    method.collect(x, 4, 8, rng)
    assert torch.equal(method._powers, fixed)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_budget_of_energies_is_spent_and_not_exceeded(share):
    method = chains(burn_in_share=share)
    method.budget = {"energy_evaluations": 400_000.0}
    values = run(method)
    spent = values["energy_evaluations"] * values["n_samples"]
    assert 0.75 * 400_000 < spent <= 400_000


def test_half_of_the_seconds_are_for_the_kept_draws(ticking):
    """By a clock that ticks once a look: 30 burn-ins of 2, and as many moves for 8 kept draws."""
    values = run(chains(burn_in=2, burn_in_share=0.5, seconds=60), 64)
    assert values["moves_per_chain"] == 30 * 2 + 8 * (60 // 8)
    assert values["draw_seconds"] == 1


def test_bad_ladders_are_refused():
    with pytest.raises(UserError, match="replicas >= 2"):
        chains(replicas=1)
    with pytest.raises(UserError, match="burn_in_share"):
        chains(burn_in_share=0.0)
