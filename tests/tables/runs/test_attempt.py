"""An attempt ends finished, failed or held; what was killed is tried last and named."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest
import toys
from filelock import FileLock

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.attempt import attempt, was_killed
from jumpbench.tables.runs.failures import read_failure
from jumpbench.tables.runs.held import held
from jumpbench.tables.runs.job import Job, Outcome
from jumpbench.tables.runs.resources import Resources


def job(*overrides):
    run = plan_run("toy/coin", overrides)
    return Job(run.folder, run.placed(), {"table": "toy/coins"})


def test_finished_failed_held(project):
    good = job()
    assert attempt(good).outcome is Outcome.FINISHED
    made = (project / "trace").read_text()
    assert attempt(good).outcome is Outcome.FINISHED and (project / "trace").read_text() == made
    ended = attempt(job("method.fail=boom"))
    assert ended.outcome is Outcome.FAILED and ended.message.startswith("RuntimeError: boom")
    held = job("method.bias=0.3")
    held.folder.mkdir(parents=True)
    with FileLock(held.folder / ".lock"):
        code = f"""
from pathlib import Path
from jumpbench.tables.runs.attempt import attempt
from jumpbench.tables.runs.job import Job
print(attempt(Job(Path({str(held.folder)!r}), {{}})).outcome.value)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "held", done.stderr


def test_a_planned_run_is_made_from_its_folder(project, jumpbench):
    planned = job()
    command = [sys.executable, "-m", "jumpbench.tables.runs", str(planned.folder)]
    planned.folder.mkdir(parents=True)
    missing = subprocess.run(command, capture_output=True, text=True, cwd=project)
    assert missing.returncode == 1 and "plan the run first" in missing.stderr
    planned.plan()
    assert Job.planned(planned.folder) == planned
    assert subprocess.run(command, cwd=project).returncode == 0
    assert (planned.folder / "metrics.json").exists()
    assert subprocess.run(command, cwd=project).returncode == 0
    assert len((project / "trace").read_text().splitlines()) == 1


def test_what_was_killed_is_tried_last_and_named(project, capsys, monkeypatch):
    table = ["table", "toy/coins", "scale=smoke", "rows=fair,biased", "columns=small n"]
    hungry = plan_run("toy/coin", ["method.bias=0.5"], 0).folder
    order = []
    monkeypatch.setattr("toys.Coin.__init__", _noting(order, toys.Coin.__init__), raising=True)
    child = os.fork()
    if child == 0:  # dies as by a segmentation fault, in the first run
        monkeypatch.setattr("toys.Coin.draw", lambda *_: os._exit(9))
        main(table)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert was_killed(hungry) and not (hungry / "error.json").exists()
    assert main(table) == 0
    shown = capsys.readouterr().err
    assert f"{hungry.name}: its last attempt was killed" in shown and "tried last" in shown
    assert order == [0.9, 0.5]
    assert not was_killed(hungry)


def test_a_run_that_another_process_makes_now_was_not_killed(tmp_path):
    (tmp_path / "begun.json").write_text("{}")
    with held(tmp_path):
        assert not was_killed(tmp_path)
    assert was_killed(tmp_path)


def _noting(order, build):
    def noted(self, bias=0.5, **more):
        order.append(bias)
        build(self, bias, **more)

    return noted


HUNGRY = "  - {name: hungry, overrides: [method.bias=0.7, method.n_samples=10000000000]}\n"


def with_a_hungry_row(project):
    """The table of coins with a first row that wants 37 GiB; the command that asks for it."""
    path = project / "reproduce/toy/coins.yaml"
    path.write_text(path.read_text().replace("rows:\n", f"rows:\n{HUNGRY}", 1))
    chosen = ["scale=smoke", "rows=hungry,fair,biased", "columns=small n"]
    return [sys.executable, "-m", "jumpbench", "table", "toy/coins", *chosen]


@pytest.mark.slow
def test_a_run_that_gets_no_memory_fails_its_own_cells(project):
    limit = 6 << 30  # of addresses: torch alone maps four
    done = subprocess.run(
        with_a_hungry_row(project), cwd=project, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1 and "memory" in shown and "Traceback" not in shown, shown
    cells = toys.table_json(project)["cells"]
    statuses = {c["row"]: c["status"] for c in cells if c["column"] == "small n"}
    asked = {"hungry": "failed", "fair": "measured", "biased": "measured"}
    assert asked.items() <= statuses.items()


@pytest.mark.slow
def test_killed_for_memory_in_every_call_a_run_keeps_no_other_from_being_made(project, forks):
    """SIGKILL while it draws, as from the kernel."""
    coin = project / "conf/experiment/toy/coin.yaml"
    coin.write_text(coin.read_text().replace("sleep: 0.0", "sleep: 0.0, doomed: 0.7"))
    command = with_a_hungry_row(project)
    calls = [subprocess.run(command, cwd=project, capture_output=True, text=True) for _ in "ab"]
    assert [call.returncode for call in calls] == [-signal.SIGKILL] * 2
    named = "its last attempt was killed (out of memory?); it is tried last"
    assert named in " ".join((calls[1].stdout + calls[1].stderr).split())
    assert (project / "trace").read_text().split("\n")[:-1] == ["0.7 0", "0.5 0", "0.9 0", "0.7 0"]


@pytest.mark.parametrize("name", ["log.txt", "training", "checkpoints"])
def test_a_link_in_a_runs_folder_is_not_followed(project, name):
    victim = project / "victim"
    victim.write_text("mine")
    packed = job()
    packed.folder.mkdir(parents=True)
    (packed.folder / name).symlink_to(victim)
    ended = attempt(packed)
    assert ended.outcome is Outcome.FAILED and f"{name} is a link" in ended.message
    assert victim.read_text() == "mine"


def test_a_failure_is_no_kill(project):
    bad = job("method.fail=boom")
    attempt(bad)
    assert not was_killed(bad.folder)


def test_progress_of_a_child_reaches_the_parent(project, forks):
    """Two processes train; the parent hears of their steps."""
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 0.2"))
    run = plan_run("toy/walk", ["trainer.devices=2", "trainer.accelerator=cpu"])
    told = []

    class Watch:
        def progress(self, stage, done, total, watched):
            told.append((stage, done, total))

    ended = attempt(Job(run.folder, run.placed(), {"table": "toy/coins", "row": "walk"}), Watch())
    assert ended.outcome is Outcome.FINISHED, ended
    steps = [done for stage, done, total in told if stage == "fit" and total == 20]
    assert steps == sorted(steps) and len(set(steps)) >= 3
    assert json.loads((run.folder / "labels.json").read_text())["row"] == "walk"
    assert not (run.folder / "progress.json").exists()


@pytest.mark.parametrize("seed", ["-1", "abc", "4294967296", "1.5"])
def test_bad_seeds_are_one_line(project, capsys, seed):
    assert main(["run", "experiment=toy/coin", f"seed={seed}"]) in (1, 2)
    shown = capsys.readouterr().err
    assert "seed" in shown and "number" in shown


def test_no_stage_is_no_run(project, capsys):
    assert main(["run", "experiment=toy/coin", "stages=[]"]) == 1
    assert "stages" in capsys.readouterr().err


def test_fresh_makes_runs_again(project, capsys):
    table = ["table", "toy/coins", "scale=smoke", "rows=fair", "columns=small n"]
    assert main(table) == 0
    assert main([*table, "fresh=false"]) == 0
    assert len((project / "trace").read_text().splitlines()) == 1
    assert main([*table, "fresh=true"]) == 0
    assert len((project / "trace").read_text().splitlines()) == 2
    assert main([*table, "fresh=perhaps"]) == 2
    assert main(["run", "experiment=toy/second"]) == 0
    assert main(["run", "experiment=toy/second", "fresh=true"]) == 0
    assert len((project / "trace").read_text().splitlines()) == 5  # not what it needs
    with FileLock(plan_run("toy/second").folder / ".lock"):
        code = "import sys; from jumpbench.cli.main import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "run", "experiment=toy/second", "fresh=true"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=project)
    assert done.returncode == 2 and "is being made now" in done.stderr


@pytest.mark.parametrize("key", ["columns=a", "rows=a"])
def test_a_run_has_no_rows_and_columns(project, capsys, key):
    assert main(["run", "experiment=toy/coin", key]) == 2
    name = key.split("=")[0]
    shown = capsys.readouterr().err
    assert f"a run has no {name}; use jumpbench table SLUG/TABLE {key}" in shown


def test_a_run_that_hangs_has_failed_and_is_killed(project):
    """After ``resources.minutes``, counted with what earlier attempts took."""
    run = plan_run("toy/coin", ["method.sleep=600", "resources.minutes=10"])
    assert run.hash == plan_run("toy/coin", ["method.sleep=600"]).hash
    began = time.monotonic()
    ended = attempt(Job(run.folder, run.placed(), spent=598.0, saving=1.0))
    assert ended.outcome is Outcome.FAILED and time.monotonic() - began < 100
    assert ended.message.startswith("it was stopped after resources.minutes=10; call again")
    assert read_failure(run.folder) == ended.message
    assert not (run.folder / "begun.json").exists()


@pytest.mark.parametrize(
    "asked, line",
    [
        ("resources.minutes=0", "resources.minutes=0: give a number above zero"),
        ("resources.cpus=1.5", "resources.cpus=1.5: give a whole number above zero"),
        ("resources.gpus=many", "resources.gpus=many: give a number"),
        ("+resources.gpu=1", "did you mean 'gpus'?"),
    ],
)
def test_bad_resources_are_one_line(project, capsys, asked, line):
    assert main(["run", "experiment=toy/coin", asked]) == 1
    assert line in capsys.readouterr().err


def test_devices_decide_the_gpus():
    def of(devices, accelerator, **asked):
        trainer = {"devices": devices, "accelerator": accelerator}
        return Resources.of({"trainer": trainer, "resources": asked}).gpus

    assert of(2, "gpu") == 2 and of([0, 3], "cuda") == 2 and of(1, "cpu") == 0
    assert of(2, "auto") is None and of(1, "auto", gpus=4) == 4 and of(1, "gpu", gpus=0) == 0
