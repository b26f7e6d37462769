"""UDNS is a configuration of the DASBS method."""

import torch
from hydra.utils import instantiate

from jumpbench.data.numbers import Numbers
from jumpbench.methods.dasbs.matching import DenoisingMatching
from jumpbench.tables.planning.plan import plan_run
from support import quiet_trainer

TINY = [
    "target.size=3",
    "network=state_perceptron",
    "network.controller.hidden=16",
    "method.controller.pairs=32",
    "method.controller.times=2",
    "method.controller.buffer_size=64",
    "method.n_steps=50",
]


def udns(max_steps):
    config = plan_run("dasbs/udns", [*TINY, f"trainer.max_steps={max_steps}"]).config["method"]
    config["evaluation"]["ground_truth"] = None
    return instantiate(config, _convert_="all")


def test_setting_is_memoryless_denoising_reweighted_and_of_one_stage():
    method = udns(max_steps=50)
    assert method.memoryless and method.controller.reweight
    assert isinstance(method.controller.matching, DenoisingMatching)
    decay = method.reference.schedule.decay(torch.zeros(()), torch.ones(()))
    assert decay == 0, "the state at the end must not remember the start"
    places = [method.stages.place(step) for step in range(50)]
    assert {place.stage for place in places} == {1}
    assert not any(place.in_corrector_phase for place in places)
    assert method.stages.controller_steps is None


def test_trains_and_reports_genuine_weights(tmp_path):
    """Without control (log Phi = 0), paths are the reference's: log Z of Ising 3x3 is 7.178078.

    Tolerance: 4 standard errors of 2048 weights.
    """
    method = udns(max_steps=3)
    trainer = quiet_trainer(3, tmp_path)
    trainer.fit(method, Numbers())
    assert method.controller.average.updates == 3
    with torch.no_grad():
        for parameter in method.controller.average.parameters():
            parameter.zero_()
    trainer.test(method, Numbers(2048, 128), verbose=False)
    values = method.results
    assert values["n_samples"] == 2048
    assert 0.02 < values["ess"] < 0.9
    assert values["log_z_error"] < 0.2
    assert abs(values["log_z"] - 7.178078) < 4 * values["log_z_error"]
