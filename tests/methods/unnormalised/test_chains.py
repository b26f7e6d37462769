import math

import lightning
import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.exact_laws import ExactEvaluation
from jumpbench.evaluations.lattice import TargetEvaluation
from jumpbench.methods.unnormalised.chains import Chains
from jumpbench.methods.unnormalised.ground_truth import GroundTruth
from jumpbench.paths import SAMPLES
from jumpbench.samplers.clusters.swendsen_wang import SwendsenWang
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.samplers.mcmc.lattice_metropolis import LatticeMetropolis
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts
from jumpbench.targets.tabular import Tabular

SMALL = {"collections": 16}
ENSEMBLE = 1024  # samples of 64 chains


def run(method, ensembles=1):
    trainer = lightning.Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.test(method, datamodule=Numbers(ensembles * ENSEMBLE, ENSEMBLE), verbose=False)
    return method.results


def judged(target, ground_truth=None):
    return {"target": target, "evaluation": TargetEvaluation(target, ground_truth)}


@pytest.mark.parametrize(
    "target", [Ising(4, 0.4407), Ising(4, 0.4407, field=0.2), Potts(3, 3, 1.005)]
)
def test_the_ground_truth_checks_itself_and_is_right(target):
    method = GroundTruth(**judged(target), burn_in=50, spacing=2, **SMALL)
    logged = run(method)
    samples = method.artifacts["samples"]
    assert samples.dtype == torch.uint8 and samples.shape == (1024, target.length)
    assert logged["n_samples"] == 1024 and logged["converged"] == 1
    assert logged["rhat"] <= 1.02 and logged["tau"] <= 1.3
    spent = 50 + sum(16 * 2 * 2**k for k in range(int(logged["rounds"])))
    assert logged["moves_per_chain"] == spent
    assert logged["sequential_steps"] == logged["energy_evaluations"] == spent / 16
    law = enumerate_law(target)
    energies = target.energy(law.states)
    error = law.std(energies) * math.sqrt(1.3 / 1024)
    assert abs(float(target.energy(samples).mean()) - law.mean(energies)) < 4 * error


def test_without_clusters_the_ground_truth_enumerates():
    """A frustrated lattice and a table: independent draws, R-hat and tau of chance alone."""
    table = Tabular(torch.randn(2, 2, 2, 2, 2, generator=torch.Generator().manual_seed(0)))
    for target in (Ising(3, 0.6, coupling=-1.0, field=0.1), table):
        method = GroundTruth(**judged(target), burn_in=50, spacing=2, **SMALL)
        logged = run(method)
        assert logged["converged"] == 1 and logged["energy_evaluations"] == 0
        law = enumerate_law(target)
        energies = target.energy(law.states)
        mean = float(target.energy(method.artifacts["samples"]).double().mean())
        assert abs(mean - law.mean(energies)) < 4 * law.std(energies) / math.sqrt(1024)


def test_an_impatient_ground_truth_fails_or_says_so():
    # Far below the transition one sweep from half ordered, half uniform starts is not enough.
    arguments = {"burn_in": 0, "spacing": 1, "max_rounds": 1, "max_rhat": 1.0001, **SMALL}
    with pytest.raises(UserError, match="R-hat"):
        run(GroundTruth(**judged(Ising(12, 0.4407)), **arguments))
    logged = run(GroundTruth(**judged(Ising(12, 0.4407)), strict=False, **arguments))
    assert logged["converged"] == 0 and logged["rhat"] > 1.0001


def test_half_of_the_ground_truth_starts_ordered():
    method = GroundTruth(Potts(4, 3, 0.5), **SMALL)
    x = method.start(64, torch.Generator().manual_seed(0))
    ordered = (x == x[:, :1]).all(-1)
    assert ordered[::2].all() and not ordered[1::2].any()
    assert len(x[::2, 0].unique()) == 3


def test_baselines_against_the_ground_truth(tmp_path):
    target = Potts(4, 3, 0.8)
    truth = GroundTruth(target, burn_in=50, spacing=4, **SMALL)
    run(truth)
    torch.save(truth.artifacts, tmp_path / SAMPLES)
    for kernel, arguments in (
        (SwendsenWang(), {"burn_in": 40, "spacing": 4}),
        (LatticeMetropolis(), {"burn_in": 1600, "spacing": 64}),
    ):
        method = Chains(**judged(target, str(tmp_path)), kernel=kernel, **arguments, **SMALL)
        logged = run(method, ensembles=2)
        assert logged["n_samples"] == 2048
        assert method.artifacts["samples"].shape == (2048, 16)
        for name in ("magnetization_error", "correlation_error", "energy_w2"):
            assert logged[name] < 5 * logged[f"{name}_floor"]
    assert logged["moves_per_chain"] == 1600 + 16 * 64
    assert logged["energy_evaluations"] == (1 + logged["moves_per_chain"]) / 16


def test_a_short_metropolis_chain_is_far_off_and_shows_it(tmp_path):
    target = Ising(8, 0.6)
    truth = GroundTruth(target, burn_in=50, spacing=4, **SMALL)
    run(truth)
    torch.save(truth.artifacts, tmp_path / SAMPLES)
    arguments = judged(target, str(tmp_path)) | {"burn_in": 64, "spacing": 8} | SMALL
    logged = run(Chains(kernel=LatticeMetropolis(), **arguments))
    assert logged["energy_w2"] > 10 * logged["energy_w2_floor"]
    assert logged["rhat"] > 1.5 and logged["tau"] > 5


def test_the_seed_decides_and_different_methods_share_no_numbers():
    target = Ising(4, 0.3)
    arguments = {"burn_in": 5, "spacing": 1, **SMALL}
    samples = []
    for seed in (1, 1, 2):
        method = Chains(target, SwendsenWang(), seed=seed, **arguments)
        run(method)
        samples.append(method.artifacts["samples"])
    assert torch.equal(samples[0], samples[1])
    assert not torch.equal(samples[0], samples[2])
    first, second = (
        Chains(target, kernel, seed=1, **SMALL) for kernel in (SwendsenWang(), LatticeMetropolis())
    )
    draws = [method.start(64, method.test_generator(0)) for method in (first, second)]
    assert not torch.equal(*draws)


@pytest.mark.parametrize("ensembles", [1, 2])
def test_a_budget_of_seconds_prolongs_the_burn_in(ticking, ensembles):
    """By a clock that ticks once a look: a burn-in of 50 is repeated until the seventh tick, or
    that of half the budget by each of two ensembles."""
    arguments = {"burn_in": 50, "spacing": 1, **SMALL}
    seconds = 7 * ensembles
    chains = Chains(
        **judged(Ising(4, 0.3)), kernel=LatticeMetropolis(), seconds=seconds, **arguments
    )
    assert run(chains, ensembles)["moves_per_chain"] == 7 * 50 + 16


@pytest.mark.parametrize("ensembles", [1, 2])
def test_a_budget_of_energies_is_spent_and_not_exceeded(ensembles):
    """The run's budget, however many ensembles share it, to less than one burn-in each."""
    arguments = {"burn_in": 50, "spacing": 1, **SMALL}
    method = Chains(**judged(Ising(4, 0.3)), kernel=LatticeMetropolis(), **arguments)
    method.budget = {"energy_evaluations": 60_000.0}
    logged = run(method, ensembles)
    spent = logged["energy_evaluations"] * logged["n_samples"]
    a_burn_in = ensembles * 64 * 50
    assert 60_000 - a_burn_in < spent <= 60_000
    with pytest.raises(UserError, match="burn_in >= 1"):
        no_burn_in = Chains(Ising(4, 0.3), LatticeMetropolis(), **(arguments | {"burn_in": 0}))
        no_burn_in.budget = method.budget
        run(no_burn_in)


@pytest.mark.parametrize("energies, kept", [(6_400, 50), (30_000, 100), (60_000, 100)])
def test_a_budget_is_kept_state_by_state_and_then_further_apart(energies, kept):
    """64 chains, two moves of burn-in at a time: half of the budget is kept, 100 of each at most.
    Errors fall with the states that are kept, down to those of as many exact draws."""
    arguments = {"burn_in": 2, "spacing": 1, "burn_in_share": 0.5, "most_kept": 100, **SMALL}
    target = Ising(3, 0.3)
    method = Chains(target, SystematicGibbs(), evaluation=ExactEvaluation(target), **arguments)
    method.budget = {"energy_evaluations": 9.0 * energies}
    logged = run(method)
    moves = logged["moves_per_chain"]
    assert logged["n_samples"] == 64 * min(int(moves / 2), 100) and moves % 2 == 0
    assert abs(logged["n_samples"] / 64 - kept) <= kept / 20
    assert 0.9 * 9 * energies < logged["energy_evaluations"] * logged["n_samples"] <= 9 * energies
    assert logged["energy_tv"] < 3 * logged["energy_tv_floor"] * logged["tau"] ** 0.5
    assert len(method.draw_chains(2048, method.generator("other"))) == 2048


@pytest.mark.parametrize(
    "bad",
    [
        {"collections": 3},
        {"burn_in": -1},
        {"spacing": 0},
        {"seconds": -1},
        {"seconds": 1, "burn_in": 0},
    ],
)
def test_bad_counts_are_refused(bad):
    with pytest.raises(UserError, match="chains"):
        Chains(Ising(3, 0.3), LatticeMetropolis(), **bad)


def test_samples_are_a_whole_number_of_chains():
    with pytest.raises(UserError, match="100 samples are no whole number of chains of 32"):
        Chains(Ising(3, 0.3), LatticeMetropolis()).draw_chains(100, torch.Generator())


def test_bad_bounds_and_fields_are_refused():
    with pytest.raises(UserError, match="max_rhat"):
        GroundTruth(Ising(3, 0.3), max_rhat=1.0)
    with pytest.raises(UserError, match=r"coupling >= 0.*too many to enumerate"):
        GroundTruth(Ising(5, 0.3, coupling=-1.0, field=0.1))
    with pytest.raises(UserError, match="coupling"):
        frustrated = Ising(3, 0.3, coupling=-1.0)
        run(Chains(frustrated, SwendsenWang(), burn_in=1, spacing=1, **SMALL))


class Moved:
    """A kernel of one's own: called as the oracles call it, always with a generator."""

    def __init__(self, told=lambda x: x):
        self.told = told

    def __call__(self, target, x, steps, generator):
        moved, info = LatticeMetropolis()(target, x % 2, steps, generator)
        return self.told(moved), info


def test_a_kernel_that_needs_a_generator_makes_the_same_chains():
    of_suite, own = LatticeMetropolis(), Moved()
    found = [
        Chains(Ising(3, 0.3), kernel, burn_in=8, spacing=4, **SMALL).sample(64).samples
        for kernel in (of_suite, own)
    ]
    assert torch.equal(*found)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (
            lambda x: x * math.nan,
            r"Moved returned torch.float32 \(4, 9\), not torch.uint8 \(4, 9\)",
        ),
        (lambda x: x[:, :1], r"Moved returned torch.uint8 \(4, 1\), not torch.uint8 \(4, 9\)"),
        (lambda x: x + 7, r"Moved returned the symbol [78]; there are 0 to 1"),
        (lambda x: x.tolist(), r"Moved returned list, not torch.uint8 \(4, 9\)"),
    ],
)
def test_what_is_no_state_is_refused(told, says):
    with pytest.raises(UserError, match=says):
        Chains(Ising(3, 0.3), Moved(told), burn_in=8, spacing=4, **SMALL).sample(64)
