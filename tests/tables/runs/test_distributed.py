"""Several devices, as two processes of a CPU: documented commands run, stopped runs go on."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from interruptions import SHORT, TRAINED, measured

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import LAST_CHECKPOINT
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.job import Job, Outcome

pytestmark = pytest.mark.slow

MANY = ["trainer.devices=2", "trainer.accelerator=cpu"]


@pytest.mark.parametrize(
    "more",
    [
        [],
        pytest.param(["trainer.strategy=ddp_find_unused_parameters_true"], marks=pytest.mark.long),
    ],
)
def test_the_bridge_sampler_trains_on_two_devices(more, capsys, forks):
    """Its steps train one of two networks; it says so itself, or the command line does."""
    chosen = ["rows=DASBS", "columns=beta_high=0.28"]
    assert main(["table", "dasbs/table2", "scale=smoke", *chosen, *MANY, *more]) == 0


def start(project, *overrides):
    """A walk on two processes of a CPU, in a group of its own, as a shell starts it."""
    command = [sys.executable, "-m", "jumpbench", "run", "experiment=toy/walk", *overrides]
    return subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def until(condition, process, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end and process.poll() is None, process.communicate()[0]
        time.sleep(0.01)


def to_all(process, number):
    os.killpg(process.pid, number)


def to_the_parent(process, number):
    os.kill(process.pid, number)


@pytest.fixture
def walk(project, forks):
    """A run on two processes, slow enough to be met in the middle, and one like it undisturbed."""
    slow = [*MANY, "method.sleep=0.1", "checkpoint_every=1000", "++trainer.log_every_n_steps=1"]
    return project, plan_run("toy/walk", slow), slow


def walked(run):
    """Its numbers and weights, from where it was made."""
    values = json.loads((run.folder / "metrics.json").read_text())["metrics"]
    last = torch.load(run.folder / "checkpoints" / LAST_CHECKPOINT, weights_only=True)
    return values["mean"], values["run/steps"], last["state_dict"]["position"].tolist()


@pytest.fixture(scope="module")
def undisturbed():
    """What :func:`walked` finds of a run that nobody stops, made once."""
    known = []

    def found(run, overrides, outputs, monkeypatch):
        if not known:
            monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(outputs))
            assert main(["run", "experiment=toy/walk", *overrides]) == 0
            known.append(walked(run))
        return known[0]

    return found


@pytest.mark.parametrize(
    ("signalled", "number"),
    [
        (to_all, signal.SIGINT),
        (to_all, signal.SIGTERM),
        (to_the_parent, signal.SIGTERM),
    ],
)
def test_asked_to_stop_all_processes_save_one_step_and_go_on_from_it(
    walk, signalled, number, undisturbed, monkeypatch
):
    project, run, slow = walk
    process = start(project, *slow)
    until((run.folder / "training/metrics.csv").exists, process)
    signalled(process, number)
    shown = process.communicate(timeout=120)[0]
    assert process.returncode == 130 and "call again" in shown, shown
    saved = torch.load(run.folder / "checkpoints" / LAST_CHECKPOINT, weights_only=True)
    assert 0 < saved["global_step"] < 20
    assert saved["other_processes"][0]["generators"].keys() == {"force/1"}
    assert not (run.folder / "begun.json").exists()
    assert main(["run", "experiment=toy/walk", *slow]) == 0
    found = walked(run)
    assert found == undisturbed(run, slow, project / "undisturbed", monkeypatch)
    assert found[1] == 20


def test_killed_on_two_devices_a_run_goes_on_as_if_it_had_not_been(walk, undisturbed, monkeypatch):
    project, _, slow = walk
    often = [*slow, "checkpoint_every=3"]
    run = plan_run("toy/walk", often)
    process = start(project, *often)
    until((run.folder / "checkpoints" / LAST_CHECKPOINT).exists, process)
    to_all(process, signal.SIGKILL)
    process.communicate()
    assert main(["run", "experiment=toy/walk", *often]) == 0
    found = walked(run)
    assert found == undisturbed(run, often, project / "undisturbed", monkeypatch)


@pytest.mark.parametrize("name", ["DASBS probes", "DNFS", "PCD"])
def test_what_a_process_has_for_itself_comes_back(name, project, forks):
    """Pairs, stored trajectories and chains of the second process; the first one dies at step 4."""

    def planned(step):
        dies = f"++trainer.callbacks=[{{_target_:toys.Dies,step:{step}}}]"
        return TRAINED[name].run(*SHORT, *MANY, dies)

    def made(run):
        return attempt(Job(run.folder, run.placed())).outcome

    undisturbed, run = planned(99), planned(4)
    assert made(undisturbed) is Outcome.FINISHED
    assert made(run) is Outcome.FAILED
    assert (
        torch.load(run.folder / "checkpoints" / LAST_CHECKPOINT, weights_only=True)["global_step"]
        == 3
    )
    assert made(run) is Outcome.FINISHED
    (numbers, tensors), (found, drawn) = measured(undisturbed.folder), measured(run.folder)
    assert found == numbers and drawn.keys() == tensors.keys()
    assert all(torch.equal(drawn[key], value) for key, value in tensors.items())


@pytest.mark.parametrize("rank", [0, 1])
def test_the_process_that_fails_says_why(project, forks, capsys, monkeypatch, rank):
    """The other one only loses it. A second attempt has an error of its own."""
    for words in ("not here", "not now"):
        monkeypatch.setenv("WORDS", words)
        assert main(["run", "experiment=toy/walk", *MANY, f"+method.fails_on={rank}"]) == 1
        assert f"RuntimeError: {words}" in capsys.readouterr().err


def test_several_machines_without_somebody_to_start_them_are_refused(project, capsys):
    """Lightning would wait for the others without end."""
    assert main(["run", "experiment=toy/walk", "trainer.num_nodes=2"]) == 1
    assert "only launcher=slurm starts one run on several machines" in capsys.readouterr().err
