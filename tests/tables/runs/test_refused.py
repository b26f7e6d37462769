"""A run that is refused before it starts has failed: its cell and status say so, and why."""

import json
import signal

import pytest
from toys import table_json

from jumpbench.cli.main import main
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.held import run_lock

CALL = ["toy/coins", "scale=smoke"]


def add_row(project, row):
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("columns:", f"  - {row}\ncolumns:", 1))


def told(project, capsys, row, *more):
    """(status and note of a row's first cell, its line in status, its entry in the Markdown)."""
    assert main(["table", *CALL, f"rows={row}", *more]) == 1
    (folder,) = (project / "outputs/tables/toy/coins").glob("smoke*")
    cells = json.loads((folder / "table.json").read_text())["cells"]
    cell = next(c for c in cells if c["row"] == row)
    markdown = (folder / "table.md").read_text()
    capsys.readouterr()
    assert main(["status", *CALL, f"rows={row}", *more]) == 1
    lines = capsys.readouterr().out.splitlines()
    (state,) = [line for line in lines if f"{row} / small n" in line]
    return cell["status"], cell["note"] or "", state, markdown


REFUSALS = {
    "unknown argument": ("{name: bad, overrides: [+method.biass=1]}", [], "did you mean 'bias'?"),
    "wrong type": ("{name: bad, overrides: [data.n=1.5]}", [], "takes a whole number"),
    "no such class": (
        "{name: bad, overrides: [method._target_=toys.Con]}", [], "toys has no 'Con'",
    ),
    "resources": ("{name: bad, overrides: [+resources.cpus=0]}", [], "resources.cpus=0"),
    "devices are no number": (
        "{name: bad, overrides: [method.bias=0.1]}", ["trainer.devices=two"], "trainer.devices=two",
    ),
    "stages": ("{name: bad, overrides: ['stages=[play]']}", [], "give some of [fit, test]"),
    "count and more": ("{name: bad, overrides: ['stages=[count,test]']}", [], "or [count]"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refused_run_is_failed(project, capsys, case):
    row, more, why = REFUSALS[case]
    add_row(project, row)
    status, note, line, markdown = told(project, capsys, "bad", *more)
    assert status == "failed" and why in note
    assert line.startswith("failed") and why in line
    assert "not run" not in next(x for x in markdown.splitlines() if x.startswith("| bad"))
    assert not (project / "trace").exists()


def test_devices_that_do_not_divide_the_batch(project, capsys, forks):
    given = ["+data.train_batch_size=3", "trainer.devices=2", "trainer.accelerator=cpu"]
    status, note, line, _ = told(project, capsys, "walk", *given)
    assert status == "failed" and "cannot be kept on 2 devices" in note
    assert line.startswith("failed") and "cannot be kept on 2 devices" in line


def test_a_link_in_the_run_folder(project, capsys):
    add_row(project, "{name: bad, overrides: [method.bias=0.1]}")
    for size in ([], ["method.n_samples=4000"]):
        folder = plan_run("toy/coin", ["method.bias=0.1", *size], 0).folder
        folder.mkdir(parents=True)
        (folder / "log.txt").symlink_to("/dev/null")
    status, note, line, _ = told(project, capsys, "bad")
    assert status == "failed" and "is a link" in note and "is a link" in line


def test_a_process_that_ends_without_a_word(project, capsys, forks):
    """In a process of its own, for its time limit; what kills it leaves no error behind."""
    row = "{name: bad, overrides: [method.bias=0.1, +method.doomed=0.1, +resources.minutes=5]}"
    add_row(project, row)
    status, note, line, _ = told(project, capsys, "bad")
    assert status == "failed" and f"ended with status -{signal.SIGKILL.value}" in note
    assert line.startswith("failed") and "ended with status" in line


@pytest.mark.parametrize(
    ("fault", "status"),
    [("+method.biass=1", "failed"), ("method.fail=no", "failed"), ("data.missing=true", None)],
)
def test_a_run_fails_with_what_it_needs(project, capsys, fault, status):
    """With the same status and the reason of the other: also data that are missing."""
    second = project / "conf/experiment/toy/second.yaml"
    second.write_text(second.read_text().replace('bias=0.25"', f'bias=0.25", "{fault}"'))
    add_row(project, "{name: second, experiment: toy/second}")
    seen, note, line, markdown = told(project, capsys, "second")
    assert seen == (status or "data-missing")
    cell = next(x for x in markdown.splitlines() if x.startswith("| second"))
    assert (status or "data missing") in cell and "not run" not in cell
    assert "No run has given a number" in markdown and "No run yet" not in markdown
    need = plan_run("toy/coin", ["method.bias=0.25", fault])
    why = {"+method.biass=1": "did you mean", "method.fail=no": "RuntimeError: no"}
    assert f"it needs {need.id}, which failed" in note
    assert why.get(fault, "put toy.txt into data/toy") in note
    assert line.startswith("failed") and "which failed" in line


def test_the_reason_goes_with_its_cause(project, capsys):
    """What was refused for the machine's sake is made by a call that asks for less."""
    add_row(project, "{name: bad, overrides: [method.bias=0.1]}")
    assert told(project, capsys, "bad", "trainer.devices=two")[0] == "failed"
    assert main(["table", *CALL, "rows=bad"]) == 0
    statuses = {c["status"] for c in table_json(project)["cells"] if c["row"] == "bad"}
    assert statuses == {"measured"}
    assert main(["status", *CALL, "rows=bad"]) == 0


def test_a_newer_reason_takes_the_place_of_an_older_one(project, capsys):
    add_row(project, "{name: bad, overrides: [method.fail=boom]}")
    assert "boom" in told(project, capsys, "bad")[1]
    status, note, _, _ = told(project, capsys, "bad", "trainer.devices=two")
    assert status == "failed" and "trainer.devices=two" in note


def test_a_run_that_another_process_makes_is_left_alone(project):
    run = plan_run("toy/coin", ["+method.biass=1"])
    with run_lock(run.folder):
        assert main(["run", "experiment=toy/coin", "+method.biass=1"]) == 1
        assert not (run.folder / "error.json").exists()


def test_single_runs_say_it_too(project, capsys):
    assert main(["run", "experiment=toy/coin", "+method.biass=1"]) == 1
    run = plan_run("toy/coin", ["+method.biass=1"])
    why = json.loads((run.folder / "error.json").read_text())
    assert why["kind"] == "UserError" and "did you mean 'bias'?" in why["message"]
