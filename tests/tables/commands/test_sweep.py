"""``jumpbench sweep`` and ``jumpbench run seeds=``: one experiment several times."""

import json

import pytest

import jumpbench
from jumpbench.cli.main import main
from jumpbench.tables.commands import report_page, sweep
from jumpbench.tables.planning.plan import plan_run

FLIPS = ["sweep", "experiment=toy/coin", "method.bias=0.2,0.8", "metric=mean,floor"]


@pytest.mark.slow
def test_a_sweep_is_a_table_of_its_values(project, capsys, monkeypatch):
    words = [*FLIPS, "method.n_samples=500,1000", "seeds=2", "data.n=4"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "Sweep of method.bias and method.n_samples\n" in shown and "scale" not in shown
    (folder,) = (project / "outputs/tables/sweep").iterdir()
    content = json.loads((folder / "small/table.json").read_text())
    assert [c["row"] for c in content["cells"]] == ["bias=0.2"] * 4 + ["bias=0.8"] * 4
    assert {c["column"] for c in content["cells"]} == {"n_samples=500", "n_samples=1000"}
    for cell in content["cells"]:
        bias, n = cell["row"].split("=")[1], cell["column"].split("=")[1]
        assert [value["seed"] for value in cell["values"]] == [0, 1]
        run = plan_run("toy/coin", ["data.n=4", f"method.bias={bias}", f"method.n_samples={n}"], 1)
        assert cell["values"][1]["run"] == run.id
        if cell["metric"] == "mean":  # binomial: within 5 standard errors
            error = (float(bias) * (1 - float(bias)) / int(n) / 2) ** 0.5
            assert abs(cell["measured"] - float(bias)) < 5 * error
        else:
            assert cell["measured"] == pytest.approx(0.5 / int(n) ** 0.5)
    # from then on it is a table like any other: resumed, shown, loaded
    trace = (project / "trace").read_text()
    assert main([*words, "trainer.accelerator=cpu"]) == 0  # where it runs makes no other table
    assert [folder] == list((project / "outputs/tables/sweep").iterdir())
    table_id = f"sweep/{folder.name}"
    assert main(["status", table_id, "seeds=2"]) == 0
    assert (project / "trace").read_text() == trace
    rows = jumpbench.load_table(table_id)
    assert len(rows) == 16 and {row["paper"] for row in rows} == {None}
    assert (folder / "small/figures/results.png").is_file()
    there = report_page.shown()
    monkeypatch.setattr(report_page, "shown", lambda: [t for t in there if t == table_id])
    assert main(["report"]) == 0
    assert f"sweep-{folder.name}" in (project / "outputs/report/index.html").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (FLIPS[:-1], "which metric? give metric=NAME,NAME; known: mean"),
        (["sweep", "experiment=toy/coin", "metric=mean", "data.n=4"], "nothing is swept"),
        (["sweep", "metric=mean"], "which runs? give experiment="),
        ([*FLIPS, "method.bais=1,2"], "did you mean 'method.bias'"),
        (["sweep", "experiment=toy/coins", "metric=mean", "data.n=4,5"], "did you mean 'toy/coin'"),
        ([*FLIPS, "rows=a"], "a run has no rows"),
        ([*FLIPS, "data.n=interval(1,4)"], "give the values, separated by commas"),
        ([*FLIPS, "seed=7"], "a sweep takes seeds=3 or seeds=[0,2], not seed="),
        ([*FLIPS, "++seed=0,1"], "a sweep takes seeds=3 or seeds=[0,2], not seed="),
        (["run", "experiment=toy/coin", "seed=7", "seeds=2"], "give seed= or seeds=, not both"),
        (["table", "toy/coins", "++seed=7"], "a table takes seeds=3 or seeds=[0,2], not seed="),
    ],
)
def test_bad_sweeps_are_told_and_leave_nothing(project, capsys, words, told):
    assert main(words) == 2
    assert told in capsys.readouterr().err
    assert not (project / "outputs/tables").exists()


def test_a_metric_that_no_table_shows_is_told_before_and_its_likeness_after(project, capsys):
    assert main([*FLIPS[:-1], "metric=men"]) == 1
    shown = capsys.readouterr()
    assert "note: no metric 'men'; did you mean 'mean'? (a run may measure" in shown.err
    said = " ".join((shown.out + shown.err).split())  # lines break where the names of runs let them
    assert "measured no 'men'; did you mean 'mean'?" in said


def test_the_example_in_the_help_is_of_metrics_that_there_are(capsys):
    assert main(["sweep", "--help"]) == 0
    example = capsys.readouterr().out.split("example: jumpbench ")[1].split()
    metric = next(word for word in example if word.startswith("metric=")).removeprefix("metric=")
    assert metric in sweep._known_metrics("dasbs/exact")


def test_three_keys_are_rows_and_columns_of_their_products():
    swept, fixed = sweep.split("x/y", ["a.b=1,2", "c=[1,2],[3]", "d=p,q", "e=[4,5]"])
    assert fixed == ["e=[4,5]"] and swept["c"] == ["c=[1,2]", "c=[3]"]
    content = sweep.table("x/y", swept, fixed, ["m"])
    assert [row["name"] for row in content["rows"]] == [
        "b=1, c=[1,2]", "b=1, c=[3]", "b=2, c=[1,2]", "b=2, c=[3]"
    ]  # fmt: skip
    assert content["rows"][1]["overrides"] == ["a.b=1", "c=[3]"]
    assert [column["overrides"] for column in content["columns"]] == [["d=p"], ["d=q"]]


def test_several_seeds_of_one_run(project, capsys):
    assert main(["run", "experiment=toy/coin", "seeds=[0,3]"]) == 0
    shown = capsys.readouterr().out
    values = [
        jumpbench.load_run(plan_run("toy/coin", [], seed).id).metrics["mean"] for seed in (0, 3)
    ]
    line = next(
        line for line in shown.splitlines() if "mean" in line and f"{values[1]:.4f}" in line
    )
    mean, spread = sum(values) / 2, abs(values[0] - values[1]) / 2**0.5
    assert all(f"{number:.4f}" in line for number in (mean, spread, values[0]))
    assert shown.index("mean ") < shown.index("run/seconds") < shown.index("of the whole run")
    assert f'jumpbench.load_run("{plan_run("toy/coin", [], 0).id}")' in shown
    assert main(["run", "experiment=toy/coin", "seeds=x"]) == 2
    assert main(["run", "experiment=toy/coin", "seed=7"]) == 0  # alone it is the run's
    assert jumpbench.load_run(plan_run("toy/coin", [], 7).id).config["seed"] == 7
