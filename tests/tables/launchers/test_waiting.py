"""Waiting for jobs: a scheduler that is slow to answer, and a file system that is slow to show."""

from types import SimpleNamespace

import pytest

from jumpbench.errors import UserError

pytest.importorskip("submitit", reason="submitit is not installed (pip install -e '.[slurm]')")
from jumpbench.tables.launchers import slurm_wait


class Watched:
    """What is told of the runs."""

    def __init__(self):
        self.finished, self.lost = [], []

    def look(self, runs):
        pass

    def started(self, run):
        pass


@pytest.fixture
def waited(monkeypatch, tmp_path):
    """Waits for one run whose job has gone: ``seen`` at the n-th look, ``silent`` answers first."""

    def wait(seen, silent=0, gone=1e9):
        looks, asked, told = iter(range(10_000)), iter(range(10_000)), Watched()

        def ask():
            if next(asked) < silent:
                raise UserError("squeue failed: Socket timed out")

        monkeypatch.setattr(slurm_wait, "QUEUE", SimpleNamespace(ask=ask))
        monkeypatch.setattr(slurm_wait, "queued_as", lambda folder: None)
        monkeypatch.setattr(slurm_wait, "is_finished", lambda folder: next(looks) >= seen)
        monkeypatch.setattr(slurm_wait, "read_failure", lambda folder: None)
        monkeypatch.setattr(slurm_wait, "why_ended", lambda run: "it ended without a result")
        monkeypatch.setattr(slurm_wait, "Watching", lambda events: told)
        monkeypatch.setattr(slurm_wait, "POLL_SECONDS", 0.0)
        monkeypatch.setattr(slurm_wait, "GONE_SECONDS", gone)
        failures = SimpleNamespace(
            reached=lambda run: False, lose=lambda run, why: told.lost.append(why)
        )
        events = SimpleNamespace(finished=told.finished.append)
        slurm_wait.until_ended([SimpleNamespace(hash="0", folder=tmp_path)], failures, events)
        return len(told.finished), told.lost

    return wait


def test_a_finished_run_may_be_seen_late_and_answers_may_fail(waited):
    assert waited(seen=3) == (1, [])
    assert waited(seen=0, silent=slurm_wait.PATIENCE) == (1, [])


def test_a_run_that_is_gone_for_long_is_lost_and_a_dead_scheduler_is_named(waited):
    assert waited(seen=100, gone=0.0) == (0, ["it ended without a result"])
    with pytest.raises(UserError, match="squeue failed"):
        waited(seen=0, silent=slurm_wait.PATIENCE + 1)
