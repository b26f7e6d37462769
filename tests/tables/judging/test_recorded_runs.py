"""Runs of a record, whose folders are elsewhere."""

from types import SimpleNamespace

import pytest

from jumpbench.paths import checkout
from jumpbench.tables.judging import recorded_runs
from jumpbench.tables.runs.git import git

RUN = SimpleNamespace(id="any/run-0123456789", config={})


@pytest.fixture(params=["unchanged", "changed"])
def code(request, monkeypatch):
    changed = request.param == "changed"
    monkeypatch.setattr(recorded_runs, "is_outdated", lambda config, origin: changed)
    return request.param


@pytest.mark.skipif(checkout() is None, reason="needs a checkout")
@pytest.mark.parametrize("said", [[], [RUN.id]])
@pytest.mark.parametrize("here", [True, False])
def test_the_code_says_how_old_a_run_is_and_the_record_where_its_commit_is_not_here(
    code, said, here
):
    provenance = {"outdated_runs": said}
    runs = recorded_runs.RecordedRuns({"provenance": provenance, "cells": []}, "a record")
    commit = git(checkout(), "rev-parse", "HEAD") if here else "0123456789" * 4
    found = runs.is_outdated(RUN, {"commit": commit})
    assert found is (code == "changed" or (bool(said) and not here))


@pytest.mark.parametrize("origin", [{"made_by": ["version 0.1"]}, {"commit": "--help"}])
def test_a_version_that_is_no_commit_leaves_it_to_the_record(origin):
    for said in ([], [RUN.id]):
        content = {"provenance": {"outdated_runs": said}, "cells": []}
        runs = recorded_runs.RecordedRuns(content, "a record")
        assert runs.is_outdated(RUN, origin) is bool(said)
