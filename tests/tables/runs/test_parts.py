"""What a run is made of fits where it is made, and what was opened for it is closed."""

import os
import signal

import pytest
import torch
from lightning.fabric.plugins.environments import LightningEnvironment

from jumpbench.errors import UserError
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import parts
from jumpbench.tables.runs.interrupts import Interrupts
from jumpbench.tables.runs.loggers import close


def built(run):
    return parts.build(run.folder, run.placed(), None, {}, Interrupts())


def test_a_run_starts_its_own_processes_inside_an_allocation_of_slurm(project, monkeypatch):
    for name, value in {"NTASKS": 1, "JOB_NAME": "table", "NTASKS_PER_NODE": 1, "PROCID": 0,
                        "LOCALID": 0, "NODEID": 0}.items():  # fmt: skip
        monkeypatch.setenv(f"SLURM_{name}", str(value))
    made = built(plan_run("toy/walk", ["trainer.devices=2"])).trainer
    found = made.strategy.cluster_environment
    assert isinstance(found, LightningEnvironment) and not found.creates_processes_externally
    assert made.world_size == 2


def test_other_processes_than_the_batch_was_shared_by_are_refused(project, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    run = plan_run("toy/walk", ["trainer.devices=auto", "trainer.accelerator=cpu"])
    with pytest.raises(UserError, match=r"1 processes .* not 2: give trainer.devices a number"):
        built(run)


class Experiment:
    """As much of a W&B run as is closed."""

    def __init__(self):
        self.codes = []

    def finish(self, exit_code):
        self.codes.append(exit_code)


class Mirror:
    def __init__(self, broken=False):
        self.experiment, self.said, self.broken = Experiment(), [], broken

    def finalize(self, status):
        self.said.append(status)
        if self.broken:
            raise RuntimeError("no answer")

    def log_hyperparams(self, params):
        if self.broken:
            raise RuntimeError("no answer")


def test_a_mirror_says_how_its_run_ended():
    good, bad = Mirror(), Mirror()
    close([good])
    close([bad, Mirror(broken=True)], failed=True)  # the run's own error is the one that counts
    assert (good.said, good.experiment.codes) == (["success"], [0])
    assert (bad.said, bad.experiment.codes) == (["failed"], [1])
    with pytest.raises(RuntimeError):
        close([Mirror(broken=True)])


def test_mirrors_are_closed_where_a_run_cannot_be_constructed(project, monkeypatch):
    first = Mirror()
    monkeypatch.setattr(parts, "mirror", lambda *_: [first])
    with pytest.raises(TypeError):
        built(plan_run("toy/walk", ["+trainer.no_such_argument=1"]))
    assert first.said == ["failed"]


def test_mirrors_are_closed_where_a_later_one_fails(project, monkeypatch):
    from jumpbench.tables.runs import mirrors

    made = iter([first := Mirror(), Mirror(broken=True)])
    monkeypatch.setattr(mirrors, "opened", lambda *_: next(made))
    run = plan_run("toy/walk", ["logger=[csv,wandb]"])
    with pytest.raises(RuntimeError):
        mirrors.mirror(run.folder, run.config, {}, run.hash)
    assert first.said == ["failed"]


class Alone:
    world_size = 1


def test_a_request_behind_the_last_step_ends_the_run_before_its_next_stage():
    with Interrupts() as interrupts:
        interrupts.end_if_asked(Alone())
        interrupts.training = True
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.requested
        interrupts.training = False
        with pytest.raises(KeyboardInterrupt):
            interrupts.end_if_asked(Alone())
