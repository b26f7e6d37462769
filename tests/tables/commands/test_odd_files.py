"""One odd file among the results costs its own cell, never the command."""

import json
import os
import sys

import pytest
from forked import forked, obey_modes
from toys import table_json

import jumpbench
from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.codeage import is_outdated

TABLE = ["table", "toy/coins", "scale=smoke"]
STATUS = ["status", *TABLE[1:]]
ODD_JSON = ["3", "NaN", "[1]", '"text"', "null", '{"id": {}, "log": 3}', '{"id": [1]}', "[[1, 2]]"]
NOT_TEXT = b"\xff\xfe\x00 \xc3\x28"


@pytest.fixture
def made(project, own_page, capsys):
    """The toy table, made; the folder of one of its runs."""
    assert main(TABLE) == 0
    capsys.readouterr()
    return plan_run("toy/coin", ["method.bias=0.9"], 0).folder


def values(project):
    cells = table_json(project)["cells"]
    return {(c["row"], c["column"]): c["measured"] for c in cells if c["status"] != "cited"}


def called(*commands):
    """That none of these commands ends by an error of ours."""
    for command in commands:
        assert main(command) in (0, 1)


@pytest.mark.parametrize("kind", ["seconds", "words"])
def test_an_odd_provenance_costs_no_number(made, project, capsys, kind):
    before, file = values(project), made / "provenance.json"
    content = json.loads(file.read_text())
    odd = {
        "seconds": ["Infinity", "-Infinity", "NaN", '"inf"', "1e999", "-1", "[]"],
        "words": [r'"\ud800"', '"\\u0000\\n"', '{"cpu": {}}', '"' + "x" * 10**6 + '"'],
    }[kind]
    for value in odd:
        key = {"seconds": "wall_seconds", "words": "hardware"}[kind]
        text = json.dumps({**content, key: 0}).replace(f'"{key}": 0', f'"{key}": {value}')
        file.write_text(text)
        called(TABLE)
        assert values(project) == before
        text = (project / "outputs/tables/toy/coins/smoke/table.json").read_text()
        whole = json.loads(text, parse_constant=pytest.fail)  # json proper has no Infinity
        assert whole["provenance"]["run_seconds"] >= 0
    called(["report"])
    assert "Error" not in capsys.readouterr().err


def test_a_commit_that_is_none_is_no_option_of_git(project, tmp_path):
    config = {"method": {"_target_": "jumpbench.methods.common.base.Method"}}
    assert not is_outdated(config, {"commit": f"--output={tmp_path / 'written'}"})
    assert not (tmp_path / "written").exists()


def test_an_odd_job_leaves_status_as_it_was(made, capsys):
    (made / "metrics.json").unlink()
    for content in ODD_JSON:
        (made / "job.json").write_text(content)
        assert main(STATUS) == 1
        shown = capsys.readouterr()
        assert shown.err == "" and "4 done, 1 missing of 5 runs" in shown.out


def test_files_that_are_no_text_cost_no_number(made, project, capsys):
    before = values(project)
    for name in ("config.yaml", "provenance.json", "labels.json", "error.json", "progress.json",
                 "begun.json", "job.json", "mirror.json", "log.txt", "training/metrics.csv",
                 "samples.pt"):  # fmt: skip
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_bytes(NOT_TEXT)
    called(TABLE, STATUS, ["report"])
    assert "Error" not in capsys.readouterr().err
    assert values(project) == before
    with pytest.raises(UserError, match=r"config.yaml is damaged"):
        jumpbench.load_run(made)


def test_a_figure_that_meets_a_damaged_run_is_left_out(made, project, capsys):
    """What a figure function reads of a run is refused in our words, and costs the figure alone."""
    table = project / "reproduce/toy/coins.yaml"
    entry = "figures: [{name: all, _target_: toys.reads_all}]"
    table.write_text(table.read_text().replace("figures: []", entry))
    (made / "metrics.json").write_text("{")
    called(TABLE)
    assert "figure 'all' of toy/coins is not drawn" in capsys.readouterr().err
    assert sum(value is None for value in values(project).values()) == 1


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_lock_that_is_no_file_costs_its_run_alone(made, project, capsys, kind):
    (made / "metrics.json").unlink()
    (made / ".lock").unlink(missing_ok=True)
    (made / ".lock").symlink_to(".lock") if kind == "link" else (made / ".lock").mkdir()
    assert main(TABLE) == main(STATUS) == 1
    assert "cannot lock" in capsys.readouterr().err
    assert sum(value is None for value in values(project).values()) == 1
    assert main([*TABLE, "fresh=true"]) == 2 and "cannot lock" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities")
@pytest.mark.parametrize("name", ["", "metrics.json", "others", "read-only"])
def test_what_may_not_be_read_costs_its_cell_alone(made, project, name):
    before = values(project)
    closed = {"": [made], "metrics.json": [made / name], "read-only": [made / ".lock", made]}.get(
        name
    )
    if closed is None:
        (made / "training").mkdir()
        names = ("training", "config.yaml", "provenance.json", "samples.pt")
        closed = [made / name for name in names]
    if name == "read-only":  # and not made
        (made / "metrics.json").unlink()
    for path in closed:
        os.chmod(path, 0o500 if name == "read-only" else 0)
    try:
        for command in (TABLE, STATUS, ["report"]):
            tried = forked(command, obey_modes)
            assert tried.status in (0, 1) and "Error" not in tried.err, tried.err
            if name != "others" and command == TABLE:
                assert "Permission denied" in (tried.out + tried.err).replace("\n", " ")
    finally:
        for path in closed:
            os.chmod(path, 0o700)
    after = values(project)
    lost = {cell for cell in before if after[cell] is None}
    assert lost == (set() if name == "others" else {("biased", "small n")})
    assert all(after[cell] == before[cell] for cell in before if cell not in lost)
