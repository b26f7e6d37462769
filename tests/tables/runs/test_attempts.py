"""A run that was stopped and goes on is made by all its attempts: their code, machines, seconds."""

import json
import os

import pytest
import toys

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs import provenance
from jumpbench.tables.runs.attempts import Attempts

FIRST, SECOND = "a" * 40, "b" * 40
CELL = ["toy/coins", "scale=smoke", "rows=fair", "columns=small n"]
WALK = ["experiment=toy/walk", "checkpoint_every=5"]


@pytest.fixture
def at(monkeypatch):
    """``at(COMMIT)``: from here on runs are made by the code of a commit."""

    def change(commit, dirty=False):
        version = {"commit": commit, "dirty": dirty}
        monkeypatch.setattr(provenance, "code_version", lambda: version)

    return change


def stop(monkeypatch, kind, name, call):
    """Run into an error at the given call of a method of a toy."""
    whole, calls = getattr(kind, name), []

    def fails(self, *arguments):
        calls.append(1)
        return 1 / 0 if len(calls) == call else whole(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(kind, name, fails)
        assert main(["run", *WALK]) == 1


def made():
    folder = plan_run("toy/walk", WALK[1:]).folder
    assert not (folder / "attempts.json").exists()
    return json.loads((folder / "provenance.json").read_text())


def test_a_run_that_goes_on_is_made_by_both_attempts(project, monkeypatch, at):
    at(FIRST)
    stop(monkeypatch, toys.Walk, "training_step", 12)
    first = json.loads((plan_run("toy/walk", WALK[1:]).folder / "attempts.json").read_text())
    first[0] |= {"wall_seconds": 100.0, "processor_seconds": 200.0, "peak_memory_gb": 300.0}
    (plan_run("toy/walk", WALK[1:]).folder / "attempts.json").write_text(json.dumps(first))
    at(SECOND)
    assert main(["run", *WALK]) == 0
    found = made()
    assert found["commit"] == SECOND and [one["commit"] for one in found["earlier"]] == [FIRST]
    assert 100.0 < found["wall_seconds"] < 160.0 and 200.0 < found["processor_seconds"] < 400.0
    assert found["peak_memory_gb"] == 300.0


def test_seconds_of_a_stopped_attempt_are_its_own(project, monkeypatch):
    stop(monkeypatch, toys.Walk, "training_step", 12)
    (one,) = json.loads((plan_run("toy/walk", WALK[1:]).folder / "attempts.json").read_text())
    assert 0 < one["wall_seconds"] < 60


def test_an_attempt_that_left_nothing_made_nothing(project, monkeypatch, at):
    at(FIRST)
    stop(monkeypatch, toys.Walk, "training_step", 3)
    at(SECOND)
    assert main(["run", *WALK]) == 0
    assert "earlier" not in made() and made()["wall_seconds"] < 60


def test_draws_are_left_too(project, monkeypatch, at):
    at(FIRST)
    stop(monkeypatch, toys.Walk, "further_results", 1)
    checkpoints = plan_run("toy/walk", WALK[1:]).folder / "checkpoints"
    for path in checkpoints.iterdir():
        path.rename(path.with_suffix(".gone"))
    assert Attempts(checkpoints.parent).together({})["earlier"][0]["commit"] == FIRST


def test_an_attempt_that_was_killed_has_no_seconds(project, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Attempts, "end", lambda self, origin: None)
        stop(patch, toys.Walk, "training_step", 12)
    assert main(["run", *WALK]) == 0
    found = made()
    assert found["earlier"][0]["wall_seconds"] is None and 0 < found["wall_seconds"] < 60


def test_what_is_raised_is_told_where_no_end_can_be_noted(project, monkeypatch, capsys):
    def full(self, origin):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Attempts, "end", full)
    stop(monkeypatch, toys.Walk, "training_step", 12)
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["[", "{}", "[1]"])
def test_a_damaged_list_is_one_line(project, monkeypatch, capsys, content):
    stop(monkeypatch, toys.Walk, "training_step", 12)
    (plan_run("toy/walk", WALK[1:]).folder / "attempts.json").write_text(content)
    capsys.readouterr()
    assert main(["run", *WALK]) == 1
    shown = capsys.readouterr().err.strip()
    assert "attempts.json is damaged" in shown and "delete it" in shown


def test_a_table_names_the_code_of_all_attempts(project, monkeypatch, at):
    """Its run is older than its code where one of them is."""
    at(FIRST)
    with monkeypatch.context() as patch:
        patch.setattr(toys.Heads, "results", lambda self: 1 / 0)
        assert main(["table", *CELL]) == 1
    at(SECOND, dirty=True)
    monkeypatch.setattr(
        "jumpbench.tables.judging.table_provenance.is_outdated",
        lambda config, origin: origin["commit"] == FIRST,
    )
    assert main(["table", *CELL]) == 0
    (file,) = project.glob("outputs/tables/toy/coins/*/table.json")
    said = json.loads(file.read_text())["provenance"]
    (origin,) = said["origins"]
    assert origin["made_by"] == ["commit bbbbbbbbbb (with local changes)", "commit aaaaaaaaaa"]
    assert "commit" not in origin and said["outdated_runs"] == list(origin["runs"])
    page = (file.parent / "table.html").read_text()
    assert "bbbbbbbbbb with local changes, before a stop aaaaaaaaaa" in page
