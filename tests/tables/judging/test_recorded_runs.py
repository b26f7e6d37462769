"""Runs of a record, whose folders are elsewhere."""

import dataclasses
from types import SimpleNamespace

import pytest

from jumpbench.paths import checkout
from jumpbench.tables.judging import recorded_runs
from jumpbench.tables.judging.cells import Cell, Value
from jumpbench.tables.runs.git import git

NEED = SimpleNamespace(id="any/need-0123456789", config={"its": "prior"})
RUN = SimpleNamespace(id="any/run-0123456789", config={})
RUN.with_needs = lambda: iter([NEED, RUN])


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


@pytest.mark.skipif(checkout() is None, reason="needs a checkout")
@pytest.mark.parametrize("changed", [NEED.config, RUN.config])
def test_a_run_is_as_old_as_what_it_needs(changed, monkeypatch):
    monkeypatch.setattr(recorded_runs, "is_outdated", lambda config, origin: config is changed)
    runs = recorded_runs.RecordedRuns({"provenance": {}, "cells": []}, "a record")
    assert runs.is_outdated(RUN, {"commit": git(checkout(), "rev-parse", "HEAD")})


@pytest.mark.parametrize(("seed", "why"), [(1, "it diverged"), (3, None)])
def test_a_seed_that_was_not_run_has_not_failed(seed, why):
    value = {"seed": 0, "value": 0.5, "run": "any/run-0000000000"}
    cell = Cell(
        row="fair", column="small n", metric="mean", status="partial", note="it diverged",
        values=[Value(**value)], run_ids=["any/run-0000000000", "any/run-0000000001"],
    )  # fmt: skip
    content = {"provenance": {}, "cells": [dataclasses.asdict(cell)], "seeds": [0, 1]}
    runs = recorded_runs.RecordedRuns(content, "a record")
    names = (SimpleNamespace(name=name) for name in ("fair", "small n", "mean"))
    entry = SimpleNamespace(**dict(zip(("row", "column", "metric"), names, strict=True)))
    run = SimpleNamespace(id=f"any/run-000000000{seed}", seed=seed)
    assert runs.failure(entry, run) == why
