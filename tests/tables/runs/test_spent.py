"""What a run has spent as a whole counts the trainings that it goes on from."""

from jumpbench.tables.runs.spent import spent

HOT = {"run/fit_seconds": 3.0, "run/fit_energy_evaluations": 100.0}


def test_training_of_all_stages_and_the_samples():
    own = {"run/fit_seconds": 5.0, "run/fit_energy_evaluations": 40.0, "n_samples": 10.0,
           "sample_seconds": 0.2, "energy_evaluations": 7.0, "network_evaluations": 1}  # fmt: skip
    values = spent(own, [HOT])
    assert values["run/setup_seconds"] == values["run/trained_seconds"] == 8
    assert values["run/seconds"] == 10
    assert values["run/trained_energy_evaluations"] == 140
    assert values["run/energy_evaluations"] == 210
    assert values["run/network_evaluations"] == 10
    third = spent(HOT, [own | values])  # of a need, what it spent with its own needs
    assert third["run/trained_seconds"] == 11 and third["run/energy_evaluations"] == 240


def test_a_chain_sets_up_without_training():
    chain = {"n_samples": 4.0, "sample_seconds": 2.5, "setup_seconds": 6.0}
    values = spent(chain, [{"n_samples": 7.0}])  # a reference that nothing was trained for
    assert values["run/setup_seconds"] == 6 and values["run/seconds"] == 10
    assert values["run/trained_seconds"] == 0
