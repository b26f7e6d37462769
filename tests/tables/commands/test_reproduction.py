"""A table from end to end, in this process."""

import csv
import json

import pytest
import torch
import toys
from toys import table_json

from jumpbench.artifacts import load_artifacts
from jumpbench.cli.main import main
from jumpbench.samplers.draws import Draws
from jumpbench.tables.planning import plan
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.views.tablefiles import TableFiles


def test_one_command_makes_the_table_and_all_its_files(project, capsys):
    assert main(["table", "toy/coins", "scale=smoke", "notes=true"]) == 0
    shown = capsys.readouterr().out
    assert "Toy, smoke run (smoke scale)" in shown and "paper 0.50" not in shown
    assert "○ The fair coin" in shown and "not at smoke" in " ".join(shown.split())
    assert max(map(len, shown.splitlines()[1:])) <= 100
    record = table_json(project)
    assert record["table"] == "toy/coins" and record["scale"] == "smoke"
    measured = [cell for cell in record["cells"] if cell["status"] == "measured"]
    assert len(measured) == 5 and len(record["cells"]) == 7
    assert {claim["holds"] for claim in record["claims"]} == {None}
    assert {cell["verdict"] for cell in record["cells"]} == {None}
    assert record["provenance"]["hardware"]
    folder = project / "outputs/tables/toy/coins/smoke"
    rows = list(csv.DictReader((folder / "table.csv").open()))
    assert [row["measured"] for row in rows] == [
        "" if cell["measured"] is None else str(cell["measured"]) for cell in record["cells"]
    ]
    for name, words in (
        ("table.md", "| fair |"),
        ("table.tex", r"\toprule"),
        ("table.html", "<td"),
    ):
        assert words in (folder / name).read_text()


def test_a_run_is_called_what_its_scale_calls_it(project, capsys):
    table = project / "reproduce/toy/coins.yaml"
    heads = "heads: {rows: {fair: euro}, columns: {small n: 500 flips}}"
    table.write_text(table.read_text().replace("{note: one seed,", f"{{note: one seed, {heads},"))
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    shown = capsys.readouterr().err
    assert "(euro / 500 flips)" in shown and "(euro / large n)" in shown


def test_a_finished_run_is_never_made_again(project, monkeypatch):
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    made = (project / "trace").read_text().splitlines()
    assert len(made) == 4  # two coins of two sizes
    written, write = [], TableFiles.write
    with monkeypatch.context() as counted:
        counted.setattr(TableFiles, "write", lambda *a, **k: written.append(k) or write(*a, **k))
        assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert written == [{"final": True}]
    assert (project / "trace").read_text().splitlines() == made
    # a further seed adds its own runs only
    assert main(["table", "toy/coins", "scale=smoke", "seeds=2", "rows=fair"]) == 0
    assert len((project / "trace").read_text().splitlines()) == 6


def test_same_run_same_number(project, monkeypatch):
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    first = table_json(project)["cells"]
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "again"))
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    again = json.loads((project / "again/tables/toy/coins/smoke/table.json").read_text())["cells"]
    assert first == again


def test_a_failure_stays_in_its_cells_and_is_retried(project, capsys, monkeypatch):
    bad = ["table", "toy/coins", "scale=smoke", "rows=fair,walk", "+method.fail=boom"]
    assert main(bad) == 2  # no such key for walk: told before anything runs
    experiment = project / "conf/experiment/toy/coin.yaml"
    whole = experiment.read_text()
    experiment.write_text(whole.replace('fail: ""', "fail: boom"))
    plan.forget()
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair,walk"]) == 1
    shown = capsys.readouterr()
    assert "failed: toy/coin" in shown.err and "RuntimeError: boom" in shown.err
    cells = {(c["row"], c["column"]): c for c in table_json(project)["cells"]}
    assert cells["biased", "small n"]["status"] == "missing"
    assert cells["fair", "small n"]["status"] == "failed"
    assert cells["walk", "small n"]["status"] == "measured"
    log = next((project / "outputs/runs/toy").glob("coin-*/log.txt")).read_text()
    assert "Traceback" in log
    assert main(["status", "toy/coins", "scale=smoke", "rows=fair,walk"]) == 1
    assert "2 failed" in capsys.readouterr().out
    monkeypatch.setattr("toys.Coin.draw", lambda *_: Draws(torch.zeros(1)))
    monkeypatch.setattr("toys.Coin.judge", lambda *_: None)  # the fault is mended, and it
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 1  # is tried again
    assert "measured no 'mean'" in capsys.readouterr().out


def test_missing_data_is_its_own_status(project, capsys):
    assert main(["table", "toy/coins", "scale=smoke", "data.missing=true", "rows=fair"]) == 1
    (folder,) = (project / "outputs/tables/toy/coins").glob("smoke+*")
    cells = json.loads((folder / "table.json").read_text())["cells"]
    assert {cell["status"] for cell in cells if cell["row"] == "fair"} == {"data-missing"}
    assert "put toy.txt into data/toy" in capsys.readouterr().err


def test_needs_are_made_first_and_once(project, capsys):
    assert main(["run", "experiment=toy/second"]) == 0
    assert len((project / "trace").read_text().splitlines()) == 2
    need = plan_run("toy/coin", ["method.bias=0.25"])
    total = load_artifacts(plan_run("toy/second").folder)["mean"]
    assert total > load_artifacts(need.folder)["mean"] > 0.15
    assert main(["run", "experiment=toy/second", "seed=1"]) == 0
    assert len((project / "trace").read_text().splitlines()) == 3


def test_a_failed_need_fails_the_run_that_needs_it(project, capsys):
    path = project / "conf/experiment/toy/second.yaml"
    path.write_text(path.read_text().replace("method.bias=0.25", "method.fail=boom"))
    assert main(["run", "experiment=toy/second"]) == 1
    assert "which failed" in capsys.readouterr().err


def test_a_run_folder_holds_its_whole_story(project):
    assert main(["run", "experiment=toy/walk"]) == 0
    run = plan_run("toy/walk")
    names = {path.name for path in run.folder.iterdir()}
    assert {"config.yaml", "checkpoints", "metrics.json", "log.txt", "provenance.json"} <= names
    torch.load(run.folder / "checkpoints/last.ckpt", weights_only=True)
    record = json.loads((run.folder / "provenance.json").read_text())
    assert {
        "commit",
        "dirty",
        "versions",
        "hardware",
        "seed",
        "wall_seconds",
        "peak_memory_gb",
    } <= (set(record))
    metrics = json.loads((run.folder / "metrics.json").read_text())["metrics"]
    assert metrics["run/steps"] == 20 and metrics["run/fit_seconds"] > 0


def test_training_resumes_where_it_stopped(project, monkeypatch):
    assert main(["run", "experiment=toy/walk"]) == 0
    run = plan_run("toy/walk")
    whole = torch.load(run.folder / "checkpoints/last.ckpt", weights_only=True)
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(project / "again"))

    step = toys.Walk.training_step

    def stop(self, batch, index):
        if self.global_step == 13:
            raise RuntimeError("stopped")
        return step(self, batch, index)

    with monkeypatch.context() as patch:
        patch.setattr("toys.Walk.training_step", stop)
        assert main(["run", "experiment=toy/walk"]) == 1
    saved = torch.load(run.folder / "checkpoints/last.ckpt", weights_only=True)
    assert saved["global_step"] == 12
    assert main(["run", "experiment=toy/walk"]) == 0
    resumed = torch.load(run.folder / "checkpoints/last.ckpt", weights_only=True)
    assert torch.equal(whole["state_dict"]["position"], resumed["state_dict"]["position"])


def test_the_global_batch_is_kept_or_refused(project, capsys, forks):
    given = ["+data.train_batch_size=3", "trainer.devices=2", "trainer.accelerator=cpu"]
    assert main(["run", "experiment=toy/walk", *given]) == 1
    assert "cannot be kept on 2 devices" in capsys.readouterr().err


def test_a_gpu_that_is_not_there_is_named(project, capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert main(["run", "experiment=toy/coin", "trainer.accelerator=gpu"]) == 1
    assert "torch sees no GPU" in capsys.readouterr().err


def test_the_table_grows_while_runs_end(project, monkeypatch):
    seen = []
    from jumpbench.tables.views.tablefiles import TableFiles

    monkeypatch.setattr("jumpbench.tables.commands.reproduction.REFRESH_SECONDS", 0.0)
    write = TableFiles.write

    def spy(self, final=False):
        view = write(self, final)
        seen.append(sum(cell.status == "measured" for cell in view.cells))
        return view

    monkeypatch.setattr(TableFiles, "write", spy)
    assert main(["table", "toy/coins", "scale=smoke"]) == 0
    assert seen == sorted(seen) and {0, 1, 2, 3, 4, 5} <= set(seen)


def test_small_is_compared_and_its_claims_are_decided(project, capsys):
    assert main(["table", "toy/coins"]) == 0
    record = table_json(project, "small")
    assert [claim["holds"] for claim in record["claims"]] == [True, None]  # two seeds, t = 86
    assert main(["table", "toy/coins", "seeds=5", "notes=true"]) == 0
    record = table_json(project, "small")
    assert [claim["holds"] for claim in record["claims"]] == [True, None]
    verdicts = {(c["row"], c["column"]): c["verdict"] for c in record["cells"]}
    assert verdicts["fair", "large n"] == "match" and verdicts["biased", "small n"] == "worse"
    assert verdicts["walk", "small n"] is None
    assert "✔ The fair coin is lowest" in capsys.readouterr().out


@pytest.mark.slow
def test_two_processes_train_one_run(project):
    """Distributed training repeats the run's own command line in its other process."""
    assert main(["run", "experiment=toy/walk", "trainer.devices=2", "trainer.accelerator=cpu"]) == 0
    run = plan_run("toy/walk")
    assert "Starting with 2 processes" in (run.folder / "log.txt").read_text()
    assert json.loads((run.folder / "metrics.json").read_text())["metrics"]["run/steps"] == 20


def test_figures_are_drawn_from_the_runs_and_only_when_they_change(project):
    table = project / "reproduce/toy/coins.yaml"
    curves = "{name: c, _target_: jumpbench.tables.views.figures.curves, metrics: [mean], x: n}"
    table.write_text(table.read_text().replace("figures: []", f"figures: [{curves}]"))
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    figure = project / "outputs/tables/toy/coins/smoke/figures/c.png"
    assert figure.with_suffix(".pdf").exists()
    page = figure.parents[1] / "table.html"
    assert 'alt="C"' in page.read_text()
    before = figure.stat().st_mtime_ns
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert figure.stat().st_mtime_ns == before and 'alt="C"' in page.read_text()
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair,biased"]) == 0
    assert figure.stat().st_mtime_ns > before


def test_a_figure_without_a_function_is_named(project, capsys):
    table = project / "reproduce/toy/coins.yaml"
    nothing = "figures: [{name: c, _target_: jumpbench.methods.sgdd.figures.at_all}]"
    table.write_text(table.read_text().replace("figures: []", nothing))
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 2
    assert "figure 'c': jumpbench.methods.sgdd.figures has no" in capsys.readouterr().err


def test_data_says_which_file_to_put_where(project, capsys, monkeypatch):
    monkeypatch.setenv("JUMPBENCH_DATA", str(project / "data"))
    assert main(["data", "tsp"]) == 1
    shown = "".join(capsys.readouterr().out.split())
    assert "missing:tsp:put" in shown and "tsp20_test.txt" in shown
    assert main(["data", "tps"]) == 2
    assert "did you mean 'tsp'" in capsys.readouterr().err


def test_damaged_provenance_and_figures_do_not_take_the_table_down(project, capsys):
    table = project / "reproduce/toy/coins.yaml"
    curves = "{name: c, _target_: jumpbench.tables.views.figures.curves, metrics: [mean], x: n}"
    table.write_text(table.read_text().replace("figures: []", f"figures: [{curves}]"))
    call = ["table", "toy/coins", "scale=smoke", "rows=fair"]
    assert main(call) == 0
    figures = project / "outputs/tables/toy/coins/smoke/figures"
    for damage in ("[]", "{", '{"hardware": 3}', '{"hardware": {}, "wall_seconds": []}', "null"):
        for file in (project / "outputs/runs/toy").glob("coin-*/provenance.json"):
            file.write_text(damage)
        (figures / "drawn.json").write_text(damage)
        (figures / "c.png").unlink()
        assert main(call) == 0
        assert (figures / "c.png").exists()
    (figures / "c.pdf").unlink()
    assert main(call) == 0 and (figures / "c.pdf").exists()


def test_a_figure_that_fails_is_told_and_left_out(project, capsys):
    table = project / "reproduce/toy/coins.yaml"
    curves = (
        "{name: c, _target_: jumpbench.tables.views.figures.curves, metrics: [mean], x: n, y: 1}"
    )
    table.write_text(table.read_text().replace("figures: []", f"figures: [{curves}]"))
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert "figure 'c' of toy/coins is not drawn: TypeError" in capsys.readouterr().err


def test_status_and_list_for_programs(project, capsys):
    assert main(["status", "toy/coins", "scale=smoke", "rows=fair", "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["missing"] == 2 and content["runs"][0]["run"].startswith("toy/coin-")
    assert content["runs"][0]["fills"] == ["fair / small n"]
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["tables"]
    assert ("toy/coins", "paper setting") in [(t["table"], t["scales"]["small"]) for t in listed]


def test_ids_are_never_broken(project, capsys, monkeypatch):
    for width in ("40", "60", "80", "160"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["status", "toy/coins", "scale=smoke"]) == 1
        assert plan_run("toy/coin").id in capsys.readouterr().out
        assert main(["list"]) == 0
        assert "toy/coins" in capsys.readouterr().out
