"""What could be run, and what a table would run."""

from jumpbench.cli import main
from jumpbench.tables.preview import duration


def test_a_plan_counts_runs_and_estimates_from_the_record(project, capsys):
    assert main(["plan", "toy/coins", "scale=smoke"]) == 0
    shown = capsys.readouterr().out
    assert "5 runs: 5 missing" in shown and "   4 x toy/coin\n" in shown
    assert "not recorded at scale smoke" in shown
    assert not (project / "outputs").exists()  # nothing was made
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    capsys.readouterr()
    assert main(["plan", "toy/coins", "scale=smoke"]) == 0
    shown = capsys.readouterr().out
    assert "5 runs: 2 done, 3 missing" in shown and "mean of the 2 recorded ones" in shown
    assert main(["plan", "toy/coins", "fresh=true"]) == 2
    assert [duration(s) for s in (40, 720, 12600)] == ["40 s", "12 min", "3.5 h"]


def test_several_tables_say_first_how_long_they_take(project, capsys):
    """Runs that two tables share count once; a table that cannot be made stops no other."""
    tables = project / "reproduce/toy"
    (tables / "again.yaml").write_text((tables / "coins.yaml").read_text())
    (tables / "broken.yaml").write_text("title: only this\n")
    assert main(["table", "toy/coins", "scale=smoke", "rows=fair"]) == 0
    assert main(["report", "--record", "toy/coins", "scale=smoke"]) == 0
    capsys.readouterr()
    assert main(["table", "toy/*", "scale=smoke", "rows=biased"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("2 runs to make; 2 of them take about ")
    assert "nothing is recorded" not in shown.err
    assert "error: toy/broken: " in shown.err and "done 2/2" in shown.err


def test_experiments_are_listed_with_what_they_are(project, capsys):
    assert main(["experiments"]) == 0
    shown = capsys.readouterr().out.splitlines()
    lines = {name: rest.strip() for name, _, rest in (line.partition(" ") for line in shown)}
    assert lines["dasbs/exact"].startswith("An Ising 3x3 lattice with a perceptron")
    assert "method=sgdd/split_gibbs" in lines["sgdd/table2"]
    assert lines["toy/coin"] == ""
    assert main(["experiments", "x"]) == 2
