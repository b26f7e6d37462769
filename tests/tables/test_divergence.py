"""Every trained class whose steps are far too large ends as a failed run that says why."""

import json

import pytest
from interruptions import TRAINED, smoke_run

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
    ],
)
def test_steps_that_are_far_too_large_fail_with_a_reason(name, rate, more, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    table, row, column, _ = TRAINED[name]
    run = smoke_run(table, row, column, [f"{rate}=1e30", "trainer.max_steps=60", *more])
    for step in run.with_needs():
        ended = attempt(Job(step.folder, step.placed()))
        if ended.outcome is not Outcome.FINISHED:
            break
    assert ended.outcome is Outcome.FAILED
    assert ended.message.startswith("training diverged by step "), ended.message
    assert not (step.folder / "metrics.json").exists()
    assert json.loads((step.folder / "error.json").read_text())["kind"] == "Diverged"
