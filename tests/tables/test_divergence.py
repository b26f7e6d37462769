"""Every trained class whose steps are far too large ends as a failed run that says why."""

import json

import pytest
from interruptions import TRAINED, smoke_run

from jumpbench.tables.attempt import Job, Outcome, attempt

FAR_TOO_LARGE = ["method.optimizer.lr=1e30", "trainer.max_steps=60"]
# The rate of these is set by a schedule, which would set the optimiser's anew.
NO_SCHEDULE = ["method.rate=null"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("DASBS", []),
        ("UDNS warm", []),
        ("LEAPS warm", ["method.scheduler=null"]),
        ("MDNS warm", []),
        ("SymmetricDiffuser", NO_SCHEDULE),
        ("DiffSort", NO_SCHEDULE),
        ("SEDD", NO_SCHEDULE),
    ],
)
def test_steps_that_are_far_too_large_fail_with_a_reason(name, more, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    table, row, column, _ = TRAINED[name]
    run = smoke_run(table, row, column, [*FAR_TOO_LARGE, *more])
    for step in run.with_needs():
        ended = attempt(Job(step.folder, step.placed()))
        if ended.outcome is not Outcome.FINISHED:
            break
    assert ended.outcome is Outcome.FAILED
    assert "diverged by step" in ended.message or "not finite" in ended.message, ended.message
    assert not (step.folder / "metrics.json").exists()
    assert json.loads((step.folder / "error.json").read_text())["message"] == ended.message
