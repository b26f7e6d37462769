"""Checkpoints: when they are written, behind a validation, also when a run is asked to stop."""

import json
import signal
import subprocess
import sys
import time

import pytest
import torch
import toys
from lightning import Trainer

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import LAST_CHECKPOINT


def metrics(run):
    return json.loads((run.folder / "metrics.json").read_text())["metrics"]


def test_metrics_of_another_run_are_refused(project, capsys):
    assert main(["run", "experiment=toy/walk"]) == 0
    assert main(["run", "experiment=toy/coin"]) == 0
    walk, coin = plan_run("toy/walk").folder, plan_run("toy/coin").folder
    (coin / "metrics.json").write_bytes((walk / "metrics.json").read_bytes())
    assert main(["status", "toy/coins", "scale=smoke", "rows=fair", "columns=small n"]) == 1
    assert "belongs to another run" in " ".join(capsys.readouterr().out.split())


def test_a_finished_run_keeps_one_checkpoint(project):
    assert main(["run", "experiment=toy/walk"]) == 0
    folder = plan_run("toy/walk").folder / "checkpoints"
    assert [p.name for p in folder.iterdir()] == [LAST_CHECKPOINT]
    assert (
        torch.load(folder / LAST_CHECKPOINT, weights_only=True)["run"] == plan_run("toy/walk").hash
    )


def test_checkpoints_by_time(project, monkeypatch):
    saved = []
    whole = Trainer.save_checkpoint
    monkeypatch.setattr(
        Trainer, "save_checkpoint",
        lambda self, path, **k: (saved.append(self.global_step), whole(self, path, **k)),
    )  # fmt: skip
    slow = ["checkpoint_every=1000", "checkpoint_minutes=0.005", "method.sleep=0.05"]
    assert main(["run", "experiment=toy/walk", *slow]) == 0
    assert 2 <= len(saved) <= 5 and saved[-1] == 20


def test_checkpoints_by_time_take_a_twentieth_of_the_time_at_most(project, monkeypatch):
    """Each takes 50 ms and is due every 0.1 ms: in 20 steps of 50 ms one is due, behind a second,
    and the one at the end."""
    saved = []

    def save(self, path, **kwargs):
        saved.append(self.global_step)
        time.sleep(0.05)
        whole(self, path, **kwargs)

    whole = Trainer.save_checkpoint
    monkeypatch.setattr(Trainer, "save_checkpoint", save)
    slow = ["checkpoint_every=1000", "checkpoint_minutes=0.0000016", "method.sleep=0.05"]
    assert main(["run", "experiment=toy/walk", *slow]) == 0
    assert saved[0] == 1 and len(saved) <= 3


def test_a_killed_training_is_stopped_at_its_step_and_loses_a_minute_at_most(
    project, capsys, forks
):
    """kill -9 behind the checkpoint that is due by time."""
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 0.1"))
    often = ["checkpoint_every=1000", "checkpoint_minutes=0.001"]
    run = plan_run("toy/walk", often)
    command = [sys.executable, "-m", "jumpbench", "run", "experiment=toy/walk", *often]
    child = subprocess.Popen(command, cwd=project, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not (run.folder / "checkpoints" / "step.json").exists() and time.monotonic() < end:
        time.sleep(0.02)
    child.kill()
    child.wait()
    step = json.loads((run.folder / "checkpoints" / "step.json").read_text())["step"]
    assert 0 < step < 20
    chosen = ["toy/coins", "scale=smoke", "rows=walk"]
    assert main(["status", *chosen]) == 1
    shown = capsys.readouterr().out
    assert f"stopped {run.id}" in shown and f"at step {step} of 20, will be resumed" in shown
    assert main(["status", *chosen, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["stopped"] == 1
    (run.folder / "checkpoints" / "step.json").write_text("3")
    main(["status", *chosen])
    assert "behind its last checkpoint, will be resumed" in capsys.readouterr().out
    assert main(["run", "experiment=toy/walk", *often]) == 0
    assert not (run.folder / "checkpoints" / "step.json").exists()


def test_trainings_are_saved_every_minute():
    config = plan_run("dnfs/exact").config
    assert config["checkpoint_minutes"] == 1


class Validated(toys.Steps):
    def val_dataloader(self):
        return self.test_dataloader()


class BestWalk(toys.Walk):
    """Tests the best of its validations, as sorting networks do."""

    def __init__(self, seed=0, sleep=0.0):
        super().__init__(seed, sleep)
        self.seen, self.validated = [], 0

    def validation_step(self, batch, index):
        self.validated += 1

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            self.seen.append(float(self.position.detach().sum()))

    def further_results(self):
        return {"mean": max(self.seen), "validations": len(self.seen)}

    def on_save_checkpoint(self, checkpoint):
        super().on_save_checkpoint(checkpoint)
        checkpoint["seen"] = list(self.seen)

    def on_load_checkpoint(self, checkpoint):
        super().on_load_checkpoint(checkpoint)
        self.seen = list(checkpoint["seen"])


def test_no_validation_is_forgotten_or_repeated_wherever_training_stops(project, monkeypatch):
    monkeypatch.setattr("toys.Walk", BestWalk)
    monkeypatch.setattr("toys.Steps", Validated)
    chosen = [
        "experiment=toy/walk", "data.n=1000", "checkpoint_every=4", "trainer.max_steps=13",
        "+trainer.val_check_interval=2", "+trainer.check_val_every_n_epoch=null",
        "+trainer.num_sanity_val_steps=0",
    ]  # fmt: skip
    whole = BestWalk.training_step
    assert main(["run", *chosen]) == 0
    run = plan_run("toy/walk", chosen[1:])
    expected = {k: v for k, v in metrics(run).items() if k in ("mean", "validations")}
    assert expected["validations"] == 6

    for stop in range(13):
        for path in (run.folder / "metrics.json", run.folder / "checkpoints" / LAST_CHECKPOINT):
            path.unlink()
        with monkeypatch.context() as patch:
            patch.setattr(
                BestWalk, "training_step",
                lambda self, *a, s=stop: 1 / 0 if self.global_step == s else whole(self, *a),
            )  # fmt: skip
            assert main(["run", *chosen]) == 1
        assert main(["run", *chosen]) == 0
        assert {k: metrics(run)[k] for k in expected} == expected, stop


def test_no_checkpoint_falls_between_accumulated_gradients(project, monkeypatch):
    """Each is due by time; a run that stops between two batches of a step repeats the step."""
    chosen = [
        "experiment=toy/walk", "data.n=1000", "++trainer.accumulate_grad_batches=3",
        "trainer.max_steps=6", "checkpoint_every=1000", "checkpoint_minutes=0.000001",
    ]  # fmt: skip
    whole, batches = toys.Walk.training_step, []
    assert main(["run", *chosen]) == 0
    run = plan_run("toy/walk", chosen[1:])
    expected = metrics(run)["mean"]
    for path in (run.folder / "metrics.json", run.folder / "checkpoints" / LAST_CHECKPOINT):
        path.unlink()

    def stops(self, *rest):
        batches.append(self.global_step)
        return 1 / 0 if batches == [0, 0, 0, 1, 1] else whole(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(toys.Walk, "training_step", stops)
        assert main(["run", *chosen]) == 1
    assert main(["run", *chosen]) == 0
    assert metrics(run)["mean"] == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_training_saves_where_it_is(project, number, forks):
    walk = project / "conf/experiment/toy/walk.yaml"
    walk.write_text(walk.read_text().replace("sleep: 0.0", "sleep: 0.2"))
    slow = ["checkpoint_every=1000", "++trainer.log_every_n_steps=1"]
    run = plan_run("toy/walk", slow)
    process = subprocess.Popen(
        [sys.executable, "-m", "jumpbench", "run", "experiment=toy/walk", *slow],
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    end = time.monotonic() + 90
    while not (run.folder / "training/metrics.csv").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    shown = process.communicate(timeout=60)[0]
    assert process.returncode == 130 and "call again" in shown, shown
    saved = torch.load(run.folder / "checkpoints" / LAST_CHECKPOINT, weights_only=True)
    assert 0 < saved["global_step"] < 20
    assert not (run.folder / "begun.json").exists()
