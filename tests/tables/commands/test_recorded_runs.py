"""A table goes on from its record: what another machine made is not made again and stays."""

import hashlib
import json
import shutil

import pytest
import toys

from jumpbench.cli.main import main
from jumpbench.tables.commands.recorded import read_record, recorded_runs
from jumpbench.tables.commands.recorded_views import decided_claims
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.selection import Selection
from jumpbench.tables.planning.tableplan import TablePlan
from jumpbench.tables.views import figures
from jumpbench.tables.views.tablefiles import TableFiles

RECORD = ["report", "--record", "toy/coins", "scale=small"]
TABLE = ["table", "toy/coins", "scale=small"]


@pytest.fixture
def machine(project, monkeypatch):
    """Go to another machine: a folder of outputs of that name."""

    def go(name):
        monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / name))

    go("first")
    return go


def record(project):
    return json.loads((project / "reproduce/toy/results/coins.small.json").read_text())


def made(project):
    """(bias, seed) of the coins that were drawn."""
    trace = project / "trace"
    lines = trace.read_text().split("\n")[:-1] if trace.is_file() else []
    trace.unlink(missing_ok=True)
    return sorted(lines)


def test_a_second_machine_adds_seeds_and_rows(project, machine, capsys):
    assert main([*TABLE, "seeds=2"]) == 0
    assert main(RECORD) == 0
    whole = record(project)
    shutil.rmtree(project / "first")
    (project / "reproduce/toy/results/coins.small.json").unlink()
    made(project)

    assert main([*TABLE, "seeds=[0]", "rows=fair"]) == 0
    assert main([*RECORD, "seeds=[0]"]) == 0
    assert made(project) == ["0.5 0", "0.5 0"]
    assert record(project)["provenance"]["n_runs"] == 2
    machine("second")
    assert main([*TABLE, "seeds=2", "recorded=true"]) == 0
    assert made(project) == sorted(["0.9 0", "0.9 1", "0.5 1"] * 2)
    assert main(RECORD) == 0
    both = record(project)
    assert both["cells"] == whole["cells"] and both["claims"] == whole["claims"]
    assert both["seeds"] == [0, 1] and both["provenance"]["n_runs"] == 10
    ids = [run for origin in both["provenance"]["origins"] for run in origin["runs"]]
    assert sorted(ids) == sorted({v["run"] for cell in whole["cells"] for v in cell["values"]})
    for key in ("row", "column"):
        ours, theirs = ([s[key] for s in r["provenance"]["seconds"]] for r in (both, whole))
        assert sorted(map(str, ours)) == sorted(map(str, theirs))

    machine("third")  # which makes nothing
    assert main(RECORD) == 0
    again = record(project)
    assert again["cells"] == both["cells"]
    for key in ("origins", "run_seconds", "hardware", "run_commits", "seconds"):
        assert again["provenance"][key] == both["provenance"][key]
    assert main([*TABLE, "recorded=true"]) == 0
    assert made(project) == []
    assert "0.50" in capsys.readouterr().out


def test_a_plan_leaves_out_what_is_recorded(project, machine, capsys):
    assert main([*TABLE, "rows=fair,biased", "seeds=[0]"]) == 0
    assert main([*RECORD, "seeds=[0]"]) == 0
    machine("second")
    plan = ["plan", "toy/coins", "scale=small", "rows=fair,biased"]
    capsys.readouterr()
    for more, said in (
        (["recorded=true"], "8 runs: 4 recorded, 4 missing"), ([], "8 runs: 8 missing"),
        (["recorded=true", "seeds=[0]"], "4 runs: 4 recorded"),
    ):  # fmt: skip
        assert main([*plan, *more]) == 0
        assert said in capsys.readouterr().out
    assert main(["plan", "toy/*", "scale=small", "rows=fair,biased", "recorded=true"]) in (0, 1)
    assert "4 recorded" in capsys.readouterr().out
    assert main([*plan, "recorded=maybe"]) == 2


def test_another_configuration_is_another_run(project, machine):
    assert main([*TABLE, "rows=fair", "seeds=[0]"]) == 0
    assert main(RECORD) == 0
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("n_samples=4000", "n_samples=3000"))
    machine("second")
    made(project)
    assert main([*TABLE, "rows=fair", "seeds=[0]", "recorded=true"]) == 0
    assert made(project) == ["0.5 0"]  # the column that was changed
    assert main(RECORD) == 0
    assert sum(len(cell["values"]) for cell in record(project)["cells"]) == 2


def test_a_record_loses_no_numbers(project, machine, capsys):
    assert main([*TABLE, "rows=fair", "seeds=[0]"]) == 0
    assert main([*TABLE, "rows=biased", "seeds=2"]) == 0
    assert main(RECORD) == 0
    file = project / "reproduce/toy/results/coins.small.json"
    before = file.read_bytes()
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("n_samples=4000", "n_samples=3000"))
    machine("second")
    assert main([*TABLE, "rows=fair", "seeds=[0]"]) == 0
    capsys.readouterr()
    assert main(RECORD) == 2 and file.read_bytes() == before
    said = capsys.readouterr().err
    assert "would be lost" in said and "biased, " in said and str(file) in said
    assert "fair, " not in said  # which was made again
    assert main([*TABLE, "rows=biased", "seeds=[0]"]) == 0
    assert main(RECORD) == 2 and file.read_bytes() == before  # it had two seeds
    assert main([*TABLE, "rows=biased", "seeds=2"]) == 0
    assert main(RECORD) == 0
    assert sum(len(cell["values"]) for cell in record(project)["cells"]) == 6


def test_a_run_that_lacks_a_number_is_made_again(project, machine):
    assert main([*TABLE, "rows=fair", "columns=small n", "seeds=[0]"]) == 0
    assert main(RECORD) == 0
    table = project / "reproduce/toy/coins.yaml"
    further = "  floor: {label: floor}\nexperiment: toy/coin"
    table.write_text(table.read_text().replace("experiment: toy/coin", further, 1))
    machine("second")
    made(project)
    assert main([*TABLE, "rows=fair", "columns=small n", "seeds=[0]", "recorded=true"]) == 0
    assert made(project) == ["0.5 0"]


def test_a_break_even_is_computed_anew(project, machine):
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(
        table.read_text()
        .replace("seed_std: 0.02}", """seed_std: 0.02}
  setup: {label: setup, source: run/setup_seconds}
  rate: {label: rate, source: n_samples}
  even: {source: mean, break_even: {errors: [mean], setup: setup, rate: rate}}""")
        .replace("overrides: [method.bias=0.5]}",
                 "overrides: [method.bias=0.5], metrics: [mean, setup, rate]}")
        .replace("overrides: []}", "overrides: [], vars: {problem: one, seconds: 5}}")
        .replace("vars: {n: 4000}", "vars: {n: 4000, problem: one, seconds: 20}")
    )  # fmt: skip
    assert main([*TABLE, "rows=fair,biased"]) == 0
    assert main(RECORD) == 0
    cells = record(project)["cells"]
    assert sum(cell["metric"] == "even" and bool(cell["values"]) for cell in cells) == 2
    machine("second")
    made(project)
    assert main([*TABLE, "rows=fair,biased", "recorded=true"]) == 0
    assert made(project) == []
    assert main(RECORD) == 0
    assert record(project)["cells"] == cells


def test_a_failed_run_of_a_record_stays_failed_without_its_folder(project, machine):
    """It has its reason on another machine, alone and beside seeds that have a number, and it is
    made again where a table asks for it."""
    table = project / "reproduce/toy/coins.yaml"
    whole = table.read_text()
    assert "overrides: [method.bias=0.5]}" in whole
    table.write_text(whole.replace("overrides: [method.bias=0.5]}",
        "overrides: [method.bias=0.5, 'method.fail=it diverged']}"))  # fmt: skip
    assert main([*TABLE, "rows=fair,biased", "seeds=2"]) == 1
    one = next((project / "first/runs/toy").glob("*/metrics.json"))
    one.unlink()
    error = {"kind": "UserError", "message": "it diverged, too"}
    (one.parent / "error.json").write_text(json.dumps(error))
    assert main(RECORD) == 0
    cells = record(project)["cells"]
    notes = {c["status"]: c["note"] for c in cells if c["row"] in ("fair", "biased")}
    assert "it diverged" in notes["failed"] and notes["partial"] == "it diverged, too"
    shutil.rmtree(project / "first")
    machine("second")
    assert main(RECORD) == 0
    assert record(project)["cells"] == cells
    made(project)
    assert main([*TABLE, "rows=fair", "recorded=true"]) == 1
    assert len(made(project)) == 4


def test_without_a_record_all_runs_are_made_and_fresh_is_refused(project, machine, capsys):
    assert main([*TABLE, "rows=fair", "seeds=[0]", "recorded=true"]) == 0
    assert "no record at scale small: all its runs are made" in capsys.readouterr().out
    assert len(made(project)) == 2
    assert main([*TABLE, "recorded=true", "fresh=true"]) == 2
    assert "give one" in capsys.readouterr().err


@pytest.mark.slow
def test_pictures_of_runs_that_are_elsewhere_stay_recorded(project, machine, monkeypatch, capsys):
    """Those that are drawn from cells are drawn anew. None stays that may show a run which another
    one took the place of."""
    table = project / "reproduce/toy/coins.yaml"
    curves = "_target_: jumpbench.tables.views.figures.curves, metrics: [mean], x: n"
    entries = f"[{{name: c, {curves}}}, {{name: all, _target_: toys.means}}]"
    table.write_text(
        table.read_text()
        .replace("figures: []", f"figures: {entries}")
        .replace("small n, overrides: []", "small n, overrides: [], vars: {n: 500}")
    )  # fmt: skip
    monkeypatch.setattr("jumpbench.tables.views.figures.permitted", lambda target, place: (
        toys.means if target == "toys.means" else figures.curves
    ))  # fmt: skip
    assert main([*TABLE, "rows=fair", "seeds=[0]"]) == 0
    assert main(RECORD) == 0
    before = {p["name"]: p["sha256"] for p in record(project)["pictures"]}
    assert set(before) == {"c", "all"}
    machine("second")
    assert main([*TABLE, "rows=biased", "seeds=[0]", "recorded=true"]) == 0
    assert main(RECORD) == 0
    after = {p["name"]: p["sha256"] for p in record(project)["pictures"]}
    assert after["all"] == before["all"] and after["c"] != before["c"]
    for name, digest in after.items():
        file = project / f"reproduce/toy/results/coins.small.{name}.png"
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    assert "no longer recorded" not in capsys.readouterr().err
    machine("third")
    table.write_text(table.read_text().replace("method.bias=0.9", "method.bias=0.8"))
    assert main([*TABLE, "rows=biased", "seeds=[0]", "recorded=true"]) == 0
    assert main(RECORD) == 0
    (replaced,) = [p["sha256"] for p in record(project)["pictures"] if p["name"] == "all"]
    assert replaced != before["all"]
    assert "'all' may show runs that are no longer recorded" in capsys.readouterr().err


def test_a_record_of_the_suite_gives_its_own_cells(tmp_path, monkeypatch):
    """One that was made before records said which code made which run."""
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path))
    table_id, scale = "sgdd/figure6", "medium"
    known = recorded_runs(table_id, scale)
    files = TableFiles(TablePlan(load(table_id), Selection(scale), known.seeds), known)
    theirs = {
        (c["row"], c["column"], c["metric"]): (c["measured"], c["std"], c["perfect"], c["verdict"])
        for c in read_record(table_id, scale)["cells"] if c["values"]
    }  # fmt: skip
    ours = {
        (c.row, c.column, c.metric): (c.measured, c.std, c.perfect, c.verdict)
        for c in files.cells() if c.values
    }  # fmt: skip
    assert ours == theirs and len(ours) == 12
    assert files.runs() == []
    provenance = files.write(final=True).provenance
    told = read_record(table_id, scale)["provenance"]
    for key in ("n_runs", "run_commits", "hardware", "seconds"):
        assert provenance[key] == told[key], key
    assert provenance["run_seconds"] == pytest.approx(told["run_seconds"], abs=1)


def test_what_is_decided_is_what_the_numbers_say_today(project, machine):
    """A record keeps the verdicts of its day; rules and permissions may have changed since."""
    scale = "scale=paper"
    assert main(["table", "toy/coins", scale, "seeds=4"]) == 0
    assert main(["report", "--record", "toy/coins", scale, "seeds=4"]) == 0
    assert decided_claims("toy/coins") == {"lowest"}
    file = project / "reproduce/toy/results/coins.paper.json"
    content = json.loads(file.read_text())
    for kept, of_none in ((None, None), (True, True)):
        for claim in content["claims"]:
            claim["holds"] = of_none if claim["id"] == "none" else kept
        file.write_text(json.dumps(content))
        assert decided_claims("toy/coins") == {"lowest"}


@pytest.mark.parametrize(
    ("anew", "measured", "perfect", "lost"),
    [("perfect: floor", True, True, False), ("perfect: bottom", True, False, False),
     ("perfect: floor, source: median", False, False, True),
     ("perfect: floor, factor: 2", False, False, True)],
)  # fmt: skip
def test_what_a_metric_reads_by_now_is_not_what_a_record_has(
    project, machine, capsys, anew, measured, perfect, lost
):
    assert main([*TABLE, "seeds=1"]) == 0 and main([*RECORD, "seeds=1"]) == 0
    assert record(project)["read"]["mean"] == {"source": "mean", "perfect": "floor"}
    shutil.rmtree(project / "first")
    table = project / "reproduce/toy/coins.yaml"
    table.write_text(table.read_text().replace("perfect: floor", anew))
    plan = TablePlan(load("toy/coins"), Selection("small", seeds="1"))
    files = TableFiles(plan, recorded_runs("toy/coins", "small"))
    fair = next(cell for cell in files.cells() if cell.row == "fair")
    assert (fair.measured is not None, fair.perfect is not None) == (measured, perfect)
    assert bool(files.runs()) is lost
    capsys.readouterr()
    assert main([*RECORD, "seeds=1"]) == (2 if lost else 0)
    assert ("no finished run" in capsys.readouterr().err) is lost
