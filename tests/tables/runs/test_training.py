"""Training that leaves the finite numbers fails; a budget ends it; its log survives a stop."""

import csv
import json

import pytest
import torch
import toys

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.divergence import largest_entries


class Meets(toys.Walk):
    """A walk that pays three network and five energy evaluations a step."""

    def training_step(self, batch, index):
        self.meter.network += 3
        self.meter.energy += 5
        return super().training_step(batch, index)


@pytest.fixture
def walk(project, monkeypatch):
    """Make the walk with overrides; returns (exit status, run)."""
    monkeypatch.setattr("toys.Walk", Meets)
    monkeypatch.setattr("toys.Meets", Meets, raising=False)

    def make(*overrides):
        return main(["run", "experiment=toy/walk", *overrides]), plan_run("toy/walk", overrides)

    return make


def metrics(run):
    return json.loads((run.folder / "metrics.json").read_text())["metrics"]


def poison(monkeypatch, step, value):
    whole = Meets.training_step

    def training_step(self, batch, index):
        loss = whole(self, batch, index)
        return loss * value if self.global_step == step else loss

    monkeypatch.setattr(Meets, "training_step", training_step)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_training_that_turns_not_finite_fails_with_its_step(walk, monkeypatch, capsys, value):
    poison(monkeypatch, 9, value)
    status, run = walk("checkpoint_every=4")
    assert status == 1 and not (run.folder / "metrics.json").exists()
    shown = capsys.readouterr().err
    assert "training diverged by step 12" in shown and "1 of 1 weight tensors" in shown
    assert json.loads((run.folder / "error.json").read_text())["kind"] == "Diverged"
    saved = torch.load(run.folder / "checkpoints/last.ckpt", weights_only=True)
    assert saved["global_step"] == 8 and saved["state_dict"]["position"].isfinite().all()


@pytest.mark.parametrize("size", [1e30, 5e14, 5e8])
def test_training_with_absurd_weights_fails_with_its_step(walk, monkeypatch, capsys, size):
    """Finite ones; no checkpoint has them, and no run that needs these weights is made."""
    whole = Meets.training_step

    def training_step(self, batch, index):
        if self.global_step == 9:
            self.position.data[2] = size
        return whole(self, batch, index)

    monkeypatch.setattr(Meets, "training_step", training_step)
    status, run = walk("checkpoint_every=4")
    assert status == 1 and not (run.folder / "metrics.json").exists()
    shown = " ".join(capsys.readouterr().err.split())
    assert "training diverged by step 12: " in shown  # of 1e30 the loss is infinite, too
    assert "1 of 1 weight tensors are above 1e+06" in shown
    assert json.loads((run.folder / "error.json").read_text())["kind"] == "Diverged"
    saved = torch.load(run.folder / "checkpoints/last.ckpt", weights_only=True)
    assert saved["global_step"] == 8 and saved["state_dict"]["position"].abs().max() < 10


def test_it_fails_before_the_test_at_the_latest(walk, monkeypatch, capsys):
    poison(monkeypatch, 18, float("nan"))
    status, _ = walk("checkpoint_every=400", "checkpoint_minutes=0")
    assert status == 1 and "training diverged by step 20" in capsys.readouterr().err


def test_what_a_step_raises_is_told_as_divergence_where_the_weights_are_beyond_use(
    walk, monkeypatch, capsys
):
    def raises(self, batch, index):
        self.position.data.fill_(1e30 if self.sleep == 0.0 else 1.0)
        raise ValueError("the flux is NaN")

    monkeypatch.setattr(Meets, "training_step", raises)
    assert walk()[0] == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert "training diverged by step 0: 1 of 1 weight tensors" in shown
    assert "(the flux is NaN)" in shown
    assert walk("method.sleep=0.001")[0] == 1
    assert "ValueError: the flux is NaN" in " ".join(capsys.readouterr().err.split())


def test_a_loss_that_is_not_finite_fails_though_weights_are(walk, monkeypatch, capsys):
    def lost(self, batch, index):
        self.log("train/loss", torch.tensor(float("inf")))
        return self.position.sum() * 0

    monkeypatch.setattr(Meets, "training_step", lost)
    assert walk()[0] == 1 and "train/loss is inf" in capsys.readouterr().err


def test_large_weights_are_finite():
    module = torch.nn.Linear(2, 2)
    module.weight.data.fill_(3e38)  # the sum of squares overflows
    assert largest_entries(module)[0] == 3e38 and largest_entries(module).isfinite().all()
    module.bias.data[1] = float("nan")
    assert largest_entries(module).isnan().tolist() == [False, True]


@pytest.mark.parametrize(
    ("limit", "steps"),
    [("network_evaluations=30", 10), ("energy_evaluations=31", 7), ("seconds=0.000001", 1)],
)
def test_a_budget_ends_training(walk, limit, steps):
    status, run = walk(f"budget.{limit}", "checkpoint_every=3")
    assert status == 0 and metrics(run)["run/steps"] == steps
    assert metrics(run)["run/fit_network_evaluations"] == 3 * steps
    # Made again from what is on disk: the end of training is kept, not one step is added.
    mean = metrics(run)["mean"]
    (run.folder / "metrics.json").unlink()
    assert walk(f"budget.{limit}", "checkpoint_every=3")[0] == 0
    assert metrics(run)["run/steps"] == steps and metrics(run)["mean"] == mean


def test_a_budget_counts_all_attempts(walk, monkeypatch):
    whole = Meets.training_step
    with monkeypatch.context() as patch:
        patch.setattr(
            Meets, "training_step",
            lambda self, *a: 1 / 0 if self.global_step == 8 else whole(self, *a),
        )  # fmt: skip
        assert walk("budget.network_evaluations=36")[0] == 1
    status, run = walk("budget.network_evaluations=36")
    assert status == 0 and metrics(run)["run/steps"] == 12


def test_a_budget_is_part_of_the_identity_and_checked(walk, capsys):
    plain = plan_run("toy/walk").hash
    assert plan_run("toy/walk", ["budget.seconds=null"]).hash == plain
    assert plan_run("toy/walk", ["budget.seconds=60"]).hash != plain
    assert walk("budget.seconds=-1")[0] == 1 and "positive" in capsys.readouterr().err


def rows(run):
    with (run.folder / "training/metrics.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_training_log_is_that_of_an_undisturbed_run(walk, monkeypatch):
    short = ("++trainer.log_every_n_steps=2", "checkpoint_every=5")
    status, run = walk(*short)
    undisturbed = rows(run)
    assert status == 0 and [int(row["step"]) for row in undisturbed] == [*range(2, 21, 2)]
    assert all(float(row["train/loss"]) > 0 for row in undisturbed)
    for path in (run.folder / "metrics.json", run.folder / "checkpoints/last.ckpt"):
        path.unlink()
    (run.folder / "training/metrics.csv").unlink()
    whole = Meets.training_step
    with monkeypatch.context() as patch:
        patch.setattr(
            Meets, "training_step",
            lambda self, *a: 1 / 0 if self.global_step == 13 else whole(self, *a),
        )  # fmt: skip
        assert walk(*short)[0] == 1
    assert [int(row["step"]) for row in rows(run)] == [2, 4, 6, 8, 10, 12]
    assert walk(*short)[0] == 0
    assert rows(run) == undisturbed
