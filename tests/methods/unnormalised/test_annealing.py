import pytest

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.evaluations.exact_laws import ExactEvaluation
from jumpbench.methods.unnormalised.annealing import AnnealedParticles
from jumpbench.samplers.mcmc.gibbs import SystematicGibbs
from jumpbench.targets.boltzmann import SpinGlass
from support import quiet_trainer

GLASS = SpinGlass(3, 1.0, disorder=1)
WAYS = {"AIS": {}, "SMC": {"resample_below": 0.5}}


def particles(**options):
    return AnnealedParticles(
        GLASS, SystematicGibbs(), particles=64, evaluation=ExactEvaluation(GLASS), **options
    )


def run(method, n=2048, batch=1024):
    quiet_trainer(1).test(method, datamodule=Numbers(n, batch), verbose=False)
    return method.results


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_log_z_and_the_law_of_a_glass(way):
    values = run(particles(powers=12, **way))
    assert values["log_z_deviation"] < 4 * values["log_z_error"] < 0.2
    assert values["energy_tv"] < 3 * values["energy_tv_floor"] / values["ess"] ** 0.5
    assert values["powers"] == 12 and values["acceptance"] == 1
    assert ("resampled" in values) == bool(way)
    assert values["ess"] > 0.35


def test_particles_that_share_ancestors_count_less_than_their_weights_say():
    """Of SMC by the spread between systems; those of AIS are independent."""
    alone, resampled = (run(particles(powers=12, **way)) for way in WAYS.values())
    assert alone["effective_samples"] == pytest.approx(2048 * alone["ess"])
    assert resampled["effective_samples"] < 0.6 * 2048 * resampled["ess"]


@pytest.mark.parametrize("batch", [2048, 1024])
def test_a_budget_of_energies_is_spent_and_not_exceeded(batch):
    method = particles()
    method.budget = {"energy_evaluations": 1e6}
    values = run(method, batch=batch)
    spent = values["energy_evaluations"] * values["n_samples"]
    assert 0.85e6 < spent <= 1.01e6 and values["powers"] > 20


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_pilot_of_a_few_particles_chooses_the_powers_of_many(way):
    """Its cost is shared by all, and weights stay unbiased: log Z within four errors of it."""
    method = particles(pilot=256, **way)
    method.budget = {"energy_evaluations": 2e6}
    values = run(method, 4096, 4096)
    assert 0.9 * 2e6 < values["energy_evaluations"] * 4096 <= 2.02e6
    assert values["log_z_deviation"] < 4 * values["log_z_error"] < 0.1
    assert values["energy_tv"] < 3 * values["energy_tv_floor"] / values["ess"] ** 0.5


def test_seconds_make_more_powers():
    few, many = (run(particles(seconds=s), 512, 512)["powers"] for s in (None, 0.6))
    assert many > 2 * few


def test_bad_counts_are_refused():
    with pytest.raises(UserError, match="100 samples are no whole number of systems of 64"):
        run(particles(), 100, 100)
    with pytest.raises(UserError, match="particles, steps and powers >= 1"):
        particles(steps=0)
    with pytest.raises(UserError, match="pilot=32 must be a system of 64"):
        particles(pilot=32)
