"""Runs that are kept between calls are those that planning makes."""

import dataclasses
import json

import pytest

from jumpbench.paths import cache_folder
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning import grid, plan
from jumpbench.tables.planning.fast import planned_runs
from jumpbench.tables.planning.grid import build, unique_runs, whole
from jumpbench.tables.planning.selection import Selection

pytestmark = pytest.mark.usefixtures("own_cache")
SMOKE = Selection("smoke")
TABLE = "sgdd/table2"


def configurations(table, selection=SMOKE):
    return {
        run.id: json.dumps([run.config, {k: need.id for k, need in run.needs.items()}])
        for run in unique_runs(build(table, selection))
    }


@pytest.fixture
def planning(monkeypatch):
    """Calls of the planner since the last look."""
    calls = []
    counted = grid.plan_run
    monkeypatch.setattr(grid, "plan_run", lambda *call: calls.append(call) or counted(*call))
    return calls


@pytest.mark.slow
def test_a_second_call_plans_nothing_and_has_the_same_runs(planning):
    for name in available()[::5]:
        plan.forget()
        table = load(name)
        first, planned = configurations(table), len(planning)
        plan.forget()
        assert planned and first and configurations(table) == first
        assert len(planning) == planned
        planning.clear()


def test_other_seeds_are_planned_and_kept_beside_the_first(planning):
    table = load(TABLE)
    build(table, SMOKE)
    planning.clear()
    assert len(whole(table, SMOKE, (5,))) and {call[2] for call in planning} >= {5}
    planning.clear()
    assert len(whole(table, SMOKE, (5,))) and not planning


def test_overrides_and_another_table_under_the_same_name_are_planned(planning):
    table = load(TABLE)
    ours = configurations(table)
    planning.clear()
    assert (
        configurations(table, Selection("smoke", overrides=("data.n_samples=201",))).keys()
        != ours.keys()
    )
    assert planning
    planning.clear()
    altered = dataclasses.replace(table, overrides=(*table.overrides, "+evaluation.n=4"))
    build(altered, SMOKE)
    assert planning


def test_a_changed_file_and_a_broken_entry_are_planned_anew(planning, monkeypatch):
    table = load(TABLE)
    ours = configurations(table)
    planning.clear()
    state = planned_runs._state
    with monkeypatch.context() as patch:
        patch.setattr(planned_runs, "_state", lambda: state() + "changed")
        assert configurations(table) == ours and planning
    for text in ("", "[]", '{"name": 1}', "{"):
        (entry,) = (cache_folder("plans") or pytest.fail()).iterdir()
        entry.write_text(text)
        assert configurations(table) == ours


def test_the_state_of_the_files_is_their_names_sizes_and_times(tmp_path, monkeypatch):
    monkeypatch.setattr(planned_runs, "_PACKAGE", tmp_path)
    seen = []
    for text in ("a = 1", "a = 1", "a = 12"):
        if not seen or text != "a = 1":
            (tmp_path / "module.py").write_text(text)
        planned_runs.forget()
        seen.append(planned_runs._state())
    planned_runs.forget()
    assert seen[0] == seen[1] != seen[2]


@pytest.mark.long
def test_no_run_has_two_places_whatever_table_is_planned_first():
    """Each place is that of the first experiment with this identity that a process plans."""
    places = {}
    for name in available():
        table = load(name)
        for scale in table.scales:
            plan.forget()
            for run in unique_runs(build(table, Selection(scale))):
                places.setdefault(run.hash, set()).add(run.id)
    assert len(places) > 2500
    assert not [ids for ids in places.values() if len(ids) > 1]
