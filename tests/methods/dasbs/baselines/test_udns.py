"""UDNS is a configuration of the DASBS method; the experiments of all trained baselines compose."""

import pytest
import torch
from hydra.utils import instantiate
from lightning import Trainer

from jumpbench.data.steps import Steps
from jumpbench.methods.dasbs.matching import DenoisingMatching
from jumpbench.tables.plan import plan_run

TINY = [
    "target.size=3",
    "network=state_perceptron",
    "network.controller.hidden=16",
    "method.pairs=32",
    "method.times=2",
    "method.buffer_size=64",
    "method.n_steps=50",
    "method.chains_per_batch=128",
]


def udns(max_steps):
    config = plan_run("dasbs/udns", [*TINY, f"trainer.max_steps={max_steps}"]).config["method"]
    return instantiate(config | {"ground_truth": None}, _convert_="all")


def test_setting_is_memoryless_denoising_reweighted_and_of_one_stage():
    method = udns(max_steps=50)
    assert method.memoryless and method.reweight
    assert isinstance(method.controller_matching, DenoisingMatching)
    decay = method.reference.schedule.decay(torch.zeros(()), torch.ones(()))
    assert decay == 0, "the state at the end must not remember the start"
    places = [method.stages.place(step) for step in range(50)]
    assert {place.stage for place in places} == {1}
    assert not any(place.in_corrector_phase for place in places)
    assert method.stages.controller_steps == 50


def test_trains_and_reports_genuine_weights(tmp_path):
    """Without control (log Phi = 0), paths are the reference's: log Z of Ising 3x3 is 7.178078.

    Tolerance: 4 standard errors of 2048 weights.
    """
    method = udns(max_steps=3)
    trainer = Trainer(
        accelerator="cpu",
        max_steps=3,
        max_epochs=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(method, Steps())
    assert method.controller_average.updates == 3
    with torch.no_grad():
        for parameter in method.controller_average.parameters():
            parameter.zero_()
    trainer.test(method, Steps(n_test_batches=16), verbose=False)
    values = trainer.callback_metrics
    assert values["test/n_samples"] == 2048
    assert 0.02 < values["test/ess"] < 0.9
    assert values["test/log_z_error"] < 0.2
    assert abs(values["test/log_z"] - 7.178078) < 4 * values["test/log_z_error"]


@pytest.mark.parametrize("name", ["mdns", "leaps", "mdns_potts", "leaps_potts"])
def test_experiments_state_the_ground_truth_of_their_own_target(name):
    run = plan_run(f"dasbs/{name}", ["target.beta=0.7"])
    assert run.config["method"]["ground_truth"] == f"run:{run.needs['ground_truth'].hash}"
    assert run.needs["ground_truth"].config["target"] == run.config["target"]


@pytest.mark.parametrize("name", ["mdns", "leaps"])
@pytest.mark.parametrize("model", ["", "_potts"])
def test_a_warm_start_needs_the_very_run_of_the_hot_column(name, model):
    kind = {"mdns": "masked_perceptron", "leaps": "equivariant_perceptron"}[name]
    scale = [
        "target.size=4",
        f"network={kind}",
        "method.optimizer.lr=0.002",
        "method.batch_size=64",
        "trainer.max_steps=77",
        "trainer.precision=32-true",
    ]
    experiment = f"dasbs/{name}{model}"
    hot = plan_run(experiment, scale, seed=3)
    cold = plan_run(experiment, ["target.beta=1.0", f"+regime={name}_warm", *scale], seed=3)
    assert cold.needs["hotter"].hash == hot.hash
    assert cold.config["method"]["warm_start"] == f"run:{hot.hash}"
    assert hot.config["method"]["warm_start"] is None
