"""Every trained class whose steps are far too large ends as a failed run that says why."""

import json

import pytest
from interruptions import TRAINED

from jumpbench.networks.letf import LeTF
from jumpbench.tables.attempt import Job, Outcome, attempt

OPTIMIZER = "method.optimizer.lr"
# The rate of these is set by a schedule, which would set the optimiser's anew.
NO_SCHEDULE = ["method.rate=null"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rate", "more"),
    [
        ("DASBS", "method.controller.optimizer.lr", []),
        ("UDNS warm", "method.controller.optimizer.lr", []),
        ("LEAPS warm", OPTIMIZER, ["method.scheduler=null"]),
        ("MDNS warm", OPTIMIZER, []),
        ("SymmetricDiffuser", OPTIMIZER, NO_SCHEDULE),
        ("DiffSort", OPTIMIZER, NO_SCHEDULE),
        ("SEDD", OPTIMIZER, NO_SCHEDULE),
        ("DNFS", OPTIMIZER, []),
        ("DNFS on graphs", OPTIMIZER, []),
        ("Blackout images", OPTIMIZER, []),
    ],
)
def test_steps_that_are_far_too_large_fail_with_a_reason(name, rate, more, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    run = TRAINED[name].run(f"{rate}=1e30", "trainer.max_steps=60", *more)
    for step in run.with_needs():
        ended = attempt(Job(step.folder, step.placed()))
        if ended.outcome is not Outcome.FINISHED:
            break
    assert ended.outcome is Outcome.FAILED
    assert ended.message.startswith("training diverged by step "), ended.message
    assert not (step.folder / "metrics.json").exists()
    assert json.loads((step.folder / "error.json").read_text())["kind"] == "Diverged"


def outcome(run):
    return attempt(Job(run.folder, run.placed()))


def test_a_flow_sampler_without_a_loss_yet_is_not_diverged(tmp_path, monkeypatch):
    """Its first roll-out comes before its first loss; a checkpoint looks at what is logged."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    run = TRAINED["DNFS"].run("trainer.max_steps=2", "checkpoint_every=1")
    assert outcome(run).outcome is Outcome.FINISHED


def test_a_flow_sampler_whose_first_roll_out_is_no_number_fails_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    flux = LeTF.forward
    monkeypatch.setattr(LeTF, "forward", lambda self, *a, **k: flux(self, *a, **k) * float("nan"))
    run = TRAINED["DNFS"].run("trainer.max_steps=2", "checkpoint_every=1", "method.probes=[]")
    ended = outcome(run)
    assert ended.outcome is Outcome.FAILED
    assert "not finite" in ended.message or "NaN" in ended.message, ended.message
    assert not (run.folder / "metrics.json").exists()
