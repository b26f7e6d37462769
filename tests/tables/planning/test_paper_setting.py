"""What stands in the column "paper setting" is the paper's setting, in every table of the suite."""

import pytest

from jumpbench.cli.main import main
from jumpbench.paths import suite_root
from jumpbench.tables.language.spec import available, load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection

IDS = [i for i in available() if (suite_root() / "reproduce" / f"{i}.yaml").is_file()]
ELSEWHERE = [
    (table_id, name)
    for table_id in IDS
    for name, scale in load(table_id).scales.items()
    if scale.kind == "paper setting" and name != "paper"
]


@pytest.mark.parametrize(("table_id", "scale"), ELSEWHERE)
def test_another_scale_has_it_only_with_the_runs_of_the_paper_scale(table_id, scale):
    """Fewer seeds are no other setting; a smaller image, network or training is."""
    table = load(table_id)

    def first_seeds(name):
        cells = build(table, Selection(name, "[0]"))
        return {(c.row.name, c.column.name, c.metric.name): c.runs for c in cells if c.runs}

    here, paper = first_seeds(scale), first_seeds("paper")
    assert here, "nothing of it is run"
    for place, runs in here.items():
        assert [run.hash for run in runs] == [run.hash for run in paper[place]], place


@pytest.mark.parametrize("table_id", IDS)
def test_a_table_that_is_not_in_the_paper_has_no_setting_of_the_paper(table_id):
    table = load(table_id)
    words = " ".join((table.about, *table.reading))
    if "not in the paper" in table.about or "Ours throughout" in words:
        assert "paper setting" not in [scale.kind for scale in table.scales.values()]


def test_binarised_mnist_at_16x16_is_none():
    """0.3 million parameters and 1,600 of 250,000 steps; its claims are ours, and decided there."""
    small = load("blackout/mnist").scales["small"]
    assert small.kind == "own setting" and small.judged and not small.compared


@pytest.mark.parametrize("table_id", [i for i in IDS if "paper" in load(i).scales])
def test_every_run_of_the_paper_scale_states_its_precision(table_id):
    for run in unique_runs(build(load(table_id), Selection("paper", "1"))):
        assert run.config["trainer"]["precision"] in ("32-true", "bf16-mixed"), run.id
        assert isinstance(run.config["tf32"], bool), run.id


def test_show_prints_the_precision_with_the_line_that_states_it(capsys):
    assert main(["show", "experiment=dasbs/ising"]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = {key: next(x for x in lines if x.strip().startswith(key)) for key in ("prec", "tf32")}
    assert "bf16-mixed" in said["prec"] and "ising.yaml" in said["prec"]
    assert "false" in said["tf32"] and "run.yaml" in said["tf32"]
