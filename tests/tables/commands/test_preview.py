"""What could be run, and what a table would run."""

import json

import pytest

from jumpbench.cli.main import main
from jumpbench.tables.commands import run_seconds, within
from jumpbench.tables.commands.estimates import ExpectedCost, duration
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.labels import Labels
from jumpbench.tables.planning.run_places import Purpose, run_places, work_digest
from jumpbench.tables.planning.selection import Selection


def test_a_plan_counts_runs_and_estimates_from_the_record(project, capsys):
    assert main(["plan", "toy/coins", "scale=smoke"]) == 0
    shown = capsys.readouterr().out
    assert "5 runs: 5 missing" in shown and "   4 x toy/coin\n" in shown
    assert "  walk: 1 run, about " in shown and "(counted, for " in shown
    assert not (project / "outputs").exists()  # nothing was made
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    capsys.readouterr()
    assert main(["plan", "toy/coins", "scale=smoke"]) == 0
    shown = capsys.readouterr().out
    assert "5 runs: 2 done, 3 missing" in shown
    # What the fair coins took says nothing of the biased ones and of a training.
    assert "  biased: 2 runs, about " in shown and "recorded on" not in shown
    assert main(["plan", "toy/coins", "fresh=true"]) == 2
    assert [duration(s) for s in (40, 720, 12600, 1e6)] == ["40 s", "12 min", "3.5 h", "12 days"]


def test_several_tables_say_first_how_long_they_take(project, capsys):
    """Runs that two tables share count once; a table that cannot be made stops no other."""
    tables = project / "reproduce/toy"
    (tables / "again.yaml").write_text((tables / "coins.yaml").read_text())
    (tables / "broken.yaml").write_text("title: only this\n")
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair,biased", "columns=small n"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    capsys.readouterr()
    assert main(["table", "toy/*", "scale=smoke", "rows=biased"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("1 run to make; about ")
    assert "for 1 run one after the other" in shown.err and "is not known" not in shown.err
    assert "error: toy/broken: " in shown.err and "done 1/1" in shown.err


def test_a_row_is_named_once_while_it_is_counted(project, capsys):
    call = ["plan", "toy/coins", "scale=smoke", "seeds=2", "rows=walk", "trainer.max_steps=41"]
    assert main(call) == 0
    assert capsys.readouterr().err.count("counting what walk takes") == 1
    assert main(call) == 0
    assert "counting" not in capsys.readouterr().err


def test_of_many_rows_that_are_not_recorded_some_are_named():
    names = {str(k): f"row {k}" for k in range(9)}
    assert ExpectedCost(unknown=names).sentence().endswith("row 5 (1) and 3 more")
    del names["8"], names["7"], names["6"]
    assert ExpectedCost(unknown=names).sentence().endswith("row 4 (1), row 5 (1)")
    rows, why = {"a": "row", "b": "row"}, {"b": "cannot be counted (an error)"}
    half = ExpectedCost({"a": 5.0}, {"b": "row"}, {"a": "counted"}, rows=rows, why=why)
    assert list(half.lines()) == [
        "row: 1 run, about 5 s (counted)", "row: 1 run, not known: cannot be counted (an error)",
    ]  # fmt: skip


def test_a_table_that_cannot_be_planned_stops_no_other(project, capsys):
    tables = project / "reproduce/toy"
    (tables / "also.yaml").write_text("title: only this\n")
    assert main(["plan", "toy/*", "scale=smoke"]) == 1
    shown = capsys.readouterr()
    assert "5 runs: 5 missing" in shown.out and shown.err.startswith("error: toy/also: ")
    assert main(["plan", "toy/also", "scale=smoke"]) == 2


def test_experiments_are_listed_with_what_they_are(project, capsys):
    assert main(["experiments"]) == 0
    shown = capsys.readouterr().out.splitlines()
    lines = {name: rest.strip() for name, _, rest in (line.partition(" ") for line in shown)}
    assert lines["dasbs/exact"].startswith("An Ising 3x3 lattice with a perceptron")
    assert "method=sgdd/split_gibbs" in lines["sgdd/table2"]
    assert lines["toy/coin"] == ""
    assert main(["experiments", "x"]) == 2


def record(project, **changes):
    """A record of the toy table that holds nothing but seconds."""
    walk = {"row": "walk", "column": "small n", "needed": None, "steps": 10, "runs": 2}
    seconds = [{**walk, "seconds": 30.0, **changes}]
    made = {"hardware": ["a processor, 1 threads"], "seconds": seconds}
    content = {"table": "toy/coins", "scale": "smoke", "cells": [], "claims": []}
    path = project / "reproduce/toy/results/coins.smoke.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**content, "provenance": made}))


def test_a_training_takes_as_long_as_its_steps(project, capsys):
    record(project)
    assert main(["plan", "toy/coins", "scale=smoke", "rows=walk"]) == 0
    assert "about 60 s for 1 run" in capsys.readouterr().out  # 20 steps; 10 were recorded
    assert main(["plan", "toy/coins", "scale=smoke", "rows=walk", "trainer.max_steps=4000"]) == 0
    shown = capsys.readouterr().out
    assert "about 3.3 h for 1 run" in shown and "(recorded on a processor, 1 threads)" in shown
    record(project, steps=None)
    assert main(["plan", "toy/coins", "scale=smoke"]) == 0
    shown = capsys.readouterr().out
    assert "  walk: 1 run, about 30 s (recorded on a processor" in shown
    assert "  fair: 2 runs, about " in shown


def test_seconds_of_runs_that_did_something_else_are_no_price(project, capsys):
    """Of a row whose configuration has changed since the record, the runs are counted."""
    grid = build(load("toy/coins"), Selection("smoke", "1", "walk"))
    ((place, run),) = run_places(grid).values()
    same = {"work": work_digest(run), "column": place.column}
    for changes, overrides, recorded in [
        (same, ["trainer.max_steps=4000"], True),
        (same, ["method.sleep=0.5"], False),
        ({**same, "work": "0123456789"}, [], False),
    ]:
        record(project, **changes)
        assert main(["plan", "toy/coins", "scale=smoke", "rows=walk", *overrides]) == 0
        assert ("recorded on" in capsys.readouterr().out) is recorded


def test_a_run_that_a_reference_row_shares_is_that_of_the_other_row():
    """The exact values of conference Table 2 come out of the runs that train DNFS."""
    grid = build(load("dnfs/conf_table2"), Selection("smoke", "1", "Optimal,DNFS"))
    assert grid[0].row.name == "Optimal" and grid[0].runs
    assert {place.row for place, _ in run_places(grid).values()} == {"DNFS"}
    labels = Labels(load("dnfs/conf_table2"), "smoke", grid)
    assert sorted(labels.names().values()) == ["DNFS / 3x3, beta 0.2", "DNFS / 3x3, beta 0.4407"]
    assert {of["paper"]["ess"] for of in labels.of_loggers().values()} == {0.9985, 0.9685}


@pytest.mark.parametrize("status", ["measured", "missing"])
def test_of_a_whole_record_without_seconds_of_rows_all_take_the_mean(status, project, capsys):
    record(project)
    path = project / "reproduce/toy/results/coins.smoke.json"
    content = json.loads(path.read_text())
    content["cells"] = [{"asked": True, "status": status}, {"asked": False, "status": "missing"}]
    made = {"hardware": ["a processor, 1 threads"], "run_seconds": 90.0, "n_runs": 3}
    path.write_text(json.dumps({**content, "provenance": made}))
    assert main(["plan", "toy/coins", "scale=smoke", "rows=fair,walk"]) == 0
    shown = capsys.readouterr().out
    mean = "  walk: 1 run, about 30 s (recorded on a processor, 1 threads)"
    assert (mean in shown) is (status == "measured")
    assert ("  fair: 2 runs, about 60 s (rec" in shown) is (status == "measured")


def test_another_column_of_runs_with_a_budget_takes_its_own_budget(project):
    """Five seconds of one column say nothing of the twenty of another."""
    column = "16 nodes, 20 s"
    grid = build(load("leaderboard/sets"), Selection("medium", "1", "SMC", "16*20 s"))
    (place, run) = next(iter(run_places(grid).values()))
    assert place == Purpose("SMC", column)
    known = {"row": "SMC", "needed": None, "steps": None, "work": None, "runs": 3, "seconds": 6.0}
    other, same = {**known, "column": "16 nodes, 5 s"}, {**known, "column": column}
    assert run_seconds._expected(place, run, [other]) is None
    assert run_seconds._expected(place, run, [other, same]) == 6.0


@pytest.mark.parametrize("status", ["measured", "missing"])
def test_a_list_says_which_records_are_parts_and_what_whole_ones_took(
    status, project, capsys, monkeypatch
):
    monkeypatch.setattr(run_seconds, "kept_total", lambda *of: None)
    record(project)
    path = project / "reproduce/toy/results/coins.smoke.json"
    content = json.loads(path.read_text())
    content["cells"] = [{"asked": True, "status": status}, {"asked": False, "status": "missing"}]
    path.write_text(json.dumps(content))
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["tables"]
    (entry,) = (entry for entry in listed if entry["table"] == "toy/coins")
    whole = status == "measured"
    assert entry["recorded"] == ["smoke"] and entry["recorded_in_part"] == ["smoke"] * (not whole)
    assert entry["seconds"] == ({"smoke": 60.0} if whole else {})
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert ("recorded: (smoke)" in shown) is not whole
    assert ("takes: smoke 60 s" in shown) is whole


def test_a_record_of_odd_content_says_nothing(project, capsys):
    for odd in ({"seconds": "long"}, {"runs": None}, {"row": {}, "needed": 3}):
        record(project, **odd)
        assert main(["plan", "toy/coins", "scale=smoke", "rows=walk"]) == 0
        assert "  walk: 1 run, about 1 s (counted, for " in capsys.readouterr().out


def test_several_tables_are_not_counted_but_on_another_machine_or_in_a_time(
    project, capsys, monkeypatch
):
    (project / "reproduce/toy/again.yaml").write_text(
        (project / "reproduce/toy/coins.yaml").read_text()
    )
    own = ["scale=smoke", "rows=walk", "trainer.max_steps=37"]
    assert main(["plan", "toy/*", *own]) == 0
    shown = capsys.readouterr().out
    assert shown.count("how long these rows take is not known: walk (1)") == 2
    assert "counts what has no price" in shown
    assert main(["plan", "toy/coins", "scale=smoke", "devices=2xA100"]) == 0
    assert "(counted, for A100 at 30% of its peak)" in capsys.readouterr().out
    assert main(["plan", "toy/coins", "scale=smoke", "devices=abacus"]) == 2
    assert main(["plan", "toy/coins", "scale=smoke", "within=soon"]) == 2
    assert main(["plan", "toy/*", "scale=smoke", "within=1h"]) == 0
    assert "no table decides an open claim in 60 min" in capsys.readouterr().out
    given = ["scale=paper", "seeds=2", "rows=fair,biased", "columns=small n"]
    assert main(["plan", "toy/coins", *given, "within=1h", "recorded=true"]) == 0
    said = "jumpbench table toy/coins scale=paper seeds=2 rows=fair,biased 'columns=small n'"
    assert f"{said} recorded=true" in capsys.readouterr().out, "as it was given"
    monkeypatch.setattr(within, "still_to_make", lambda *of: ([], []))
    assert main(["plan", "toy/coins", *given, "within=1h"]) == 0
    shown = capsys.readouterr().out
    assert "toy/coins has all its runs, and 1 open claim (" in shown and "no table decides" in shown
    assert main(["plan", "toy/coins", "scale=smoke"]) == 0
    capsys.readouterr()
    assert main(["list"]) == 0
    assert "smoke" in capsys.readouterr().out
