"""A record whose code has changed since is compared with today's code at smoke scale."""

import json

import pytest

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.paths import checkout
from jumpbench.tables.commands import unchanged as module
from jumpbench.tables.commands.recorded_views import recorded_view
from jumpbench.tables.commands.unchanged import unchanged
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.runs.git import git
from jumpbench.tables.views.wording import made_by

SMALL = Selection("small")
THEN, NOW = "1" * 40, "2" * 40


@pytest.fixture
def record(project, monkeypatch):
    """The record of a table, by code of commit THEN, which differs from that of NOW."""
    assert main(["table", "toy/coins", "scale=small"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=small"]) == 0
    place = project / "reproduce/toy/results/coins.small.json"
    content = json.loads(place.read_text())
    for origin in content["provenance"]["origins"]:
        origin |= {"commit": THEN, "edited": {}}
    content["provenance"]["outdated_runs"] = list(content["provenance"]["origins"][0]["runs"])
    place.write_text(json.dumps(content))
    monkeypatch.setattr(module, "git", lambda *words: NOW)
    monkeypatch.setattr(module, "edited", lambda root: {})
    monkeypatch.setattr(module, "is_here", lambda commit: True)
    place_of = "jumpbench.tables.judging.recorded_runs"
    monkeypatch.setattr(f"{place_of}.is_outdated", lambda config, origin: origin["commit"] == THEN)
    monkeypatch.setattr(f"{place_of}.is_here", lambda commit: True)
    return place


def told(then, now):
    """Numbers of either commit, as a stand-in for its smoke runs."""
    rows = ("fair", "biased", "no row of the table")
    each = {THEN: then, NOW: now}
    return lambda words, commit: {(r, "c", "mean", 0): each[commit] for r in rows}


def test_equal_numbers_make_a_record_as_young_as_the_commit(record):
    said = unchanged("toy/coins", SMALL, told(0.1, 0.1))
    assert "(2 compared)" in said
    provenance = json.loads(record.read_text())["provenance"]
    assert provenance["outdated_runs"] == []
    assert {origin["same_at"] for origin in provenance["origins"]} == {NOW}
    assert {origin["commit"] for origin in provenance["origins"]} == {THEN}
    view = recorded_view(load("toy/coins"), json.loads(record.read_text()))
    assert made_by(view).endswith("; short runs of commit 2222222222 give the same numbers")
    assert "no run is older" in unchanged("toy/coins", SMALL, told(0.1, 0.2))


def test_a_number_that_differs_is_named_and_the_record_left_alone(record):
    before = record.read_text()
    with pytest.raises(UserError, match=r"c, mean, seed 0: 0.1 at 1111111111, 0.2 now; make"):
        unchanged("toy/coins", SMALL, told(0.1, 0.2))
    with pytest.raises(UserError, match="no number at 1111111111"):
        unchanged(
            "toy/coins", SMALL,
            lambda words, commit: {("fair", "c", "mean", 0): 1.0} if commit == NOW else {},
        )  # fmt: skip
    assert record.read_text() == before


def test_numbers_that_differ_from_run_to_run_are_left_out(record):
    seconds = iter(range(99))

    def measure(words, commit):
        return {("fair", "c", "mean", 0): 0.5, ("fair", "c", "seconds", 0): next(seconds)}

    assert "(1 compared)" in unchanged("toy/coins", SMALL, measure)


def test_no_number_is_no_agreement(record):
    with pytest.raises(UserError, match="no number that could be compared"):
        unchanged("toy/coins", SMALL, lambda words, commit: {})


def test_a_part_of_a_table_is_refused(record):
    with pytest.raises(UserError, match="leave out rows="):
        unchanged("toy/coins", Selection("small", rows="fair"), told(0.1, 0.1))


def test_classes_that_smoke_runs_leave_out_are_named(record, monkeypatch):
    asked = iter([[("method", {"_target_": "toy.Old"})]])
    monkeypatch.setattr(module, "targets", lambda part: next(asked, []))
    with pytest.raises(UserError, match=r"no short run uses toy.Old"):
        unchanged("toy/coins", SMALL, told(0.1, 0.1))


def test_overrides_shorten_the_scale_of_the_record_itself(record):
    asked = []

    def short(words, commit):
        asked.append(words)
        return {("fair", "c", "mean", 0): 0.5}

    unchanged("toy/coins", Selection("small", overrides=("name=other",)), short)
    assert {tuple(words) for words in asked} == {
        ("toy/coins", "scale=small", "seeds=1", "name=other")
    }


def test_code_that_nobody_has_is_not_compared(record, monkeypatch):
    monkeypatch.setattr(module, "is_here", lambda commit: False)
    with pytest.raises(UserError, match="not in this checkout"):
        unchanged("toy/coins", SMALL, told(0.1, 0.1))
    monkeypatch.setattr(module, "edited", lambda root: {"src/a.py": ""})
    with pytest.raises(UserError, match=r"src/a.py differs"):
        unchanged("toy/coins", SMALL, told(0.1, 0.1))


def test_runs_of_a_commit_are_made_beside_the_checkout_and_leave_nothing():
    root = checkout()
    if root is None or (head := git(root, "rev-parse", "HEAD")) is None:
        pytest.skip("no checkout with commits")
    words, before = ["symmetric_diffusers/figure2a", "scale=smoke"], git(root, "worktree", "list")
    found = module._made(words, head)
    assert found and {metric for _, _, metric, _ in found} == {"tv"}
    assert found == module._made(words, head)
    assert git(root, "worktree", "list") == before
