"""The baselines' configurations: printed hyperparameters, and that every experiment runs."""

import json
from pathlib import Path

import pytest
import yaml

from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.runs.execute import execute

FACTS = yaml.safe_load(
    (Path(__file__).parents[3] / "facts" / "symmetric_diffusers.yaml").read_text()
)
SORT_LENGTHS = (3, 5, 7, 9, 15, 32, 52, 100, 200)


def printed(table):
    (found,) = (entry for entry in FACTS["tables"] if entry["id"] == table)
    rows: dict = {}
    for cell in found["cells"]:
        rows.setdefault(cell["row"], {})[cell["column"]] = cell["value"]
    return rows


def rate(text):
    return 10 ** float(str(text)[3:]) if str(text).startswith("10^") else float(text)


@pytest.mark.parametrize("n", SORT_LENGTHS)
@pytest.mark.parametrize(
    ("experiment", "table"),
    [("sort_diffsort", "table14"), ("sort_error_free_diffsort", "table13")],
)
def test_settings_are_the_printed_ones(experiment, table, n):
    wanted = printed(table)[f"n={n}"]
    method = plan_run(f"symmetric_diffusers/{experiment}", (f"data.length={n}",)).whole["method"]
    assert method["steepness"] == wanted["steepness"]
    network = method["comparators"]["path"].rpartition(".")[2]
    assert network == wanted["sorting network"].replace(" ", "_")
    assert method["hard_weight"] == wanted.get("loss weight", 0.0)
    expected = rate(wanted.get("learning rate", "10^-3.5"))  # Table 14's is in its caption
    assert method["optimizer"]["lr"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("pieces", "n"), [(2, 5), (3, 9), (4, 15), (5, 32), (6, 32)])
@pytest.mark.parametrize(
    ("experiment", "table"),
    [("jigsaw_diffsort", "table14"), ("jigsaw_error_free_diffsort", "table13")],
)
def test_jigsaws_use_the_nearest_length(experiment, table, pieces, n):
    wanted = printed(table)[f"n={n}"]
    run = plan_run(f"symmetric_diffusers/{experiment}", (f"data.pieces={pieces}",))
    method = run.whole["method"]
    assert method["steepness"] == wanted["steepness"]
    network = method["comparators"]["path"].rpartition(".")[2]
    assert network == wanted["sorting network"].replace(" ", "_")
    assert method["hard_weight"] == wanted.get("loss weight", 0.0)


FEW = (
    "trainer.max_steps=2",
    "trainer.accelerator=cpu",
    "data.n_samples=8",
    "data.train_batch_size=4",
)
SELECTED = ("data.generated=60", "data.held_out=20", "data.valid_size=8")
SELECTED = (*SELECTED, "trainer.val_check_interval=1")
SMALL = (
    "network.dim=16",
    "network.heads=2",
    "network.hidden=16",
)
GREEDY = (*SMALL, "decoding=symmetric_diffusers/greedy")
GENERATED = ("data.train_files=[]", "data.train_size=8", "data.test_files=[]")
TINY = ("network.dim=16", "network.layers=1", "network.heads=2", "network.feedforward=16")


TRAINED = [
    ("sort_diffsort", (*FEW, *SELECTED, "data.length=3", "network=digit_scores"), "accuracy"),
    (
        "sort_error_free_diffsort",
        (*FEW, *SELECTED, "data.length=5", "network=digit_scores_transformer"),
        "kendall_tau",
    ),
    ("jigsaw_diffsort", (*FEW, *SELECTED, "data.pieces=3"), "rmse"),
    ("jigsaw_error_free_diffsort", (*FEW, *SELECTED, "data.pieces=2"), "mae"),
    ("jigsaw_gumbel_sinkhorn", (*FEW, "data.generated=60", "network.hidden=4"), "correct"),
    ("toy_sedd", (*FEW, *TINY, "data.length=6", "method.steps=4"), "valid"),
    ("sort", (*FEW, *GREEDY, "data.generated=60", "network=sort_transformer_small"), "correct"),
    ("jigsaw", (*FEW, *GREEDY, "data.generated=60", "data.pieces=2"), "rmse_unit"),
    ("fixed_permutation", (*FEW, *SMALL, "data.length=6"), "accuracy@greedy"),
    ("tsp20", (*FEW, *GREEDY, "data.length=6", *GENERATED, "network.layers=2"), "gap_first"),
]
SOLVED = [
    ("tsp_two_opt", ("data.length=7", "data.test_files=[]", "data.n_samples=8"), "gap_mean"),
    ("tsp_held_karp", ("data.length=7", "data.test_files=[]", "data.n_samples=8"), "gap"),
]


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize(("experiment", "overrides", "metric"), TRAINED)
def test_trained_experiments_run_in_either_precision(
    tmp_path, experiment, overrides, metric, precision
):
    run_and_check(tmp_path, experiment, (*overrides, f"trainer.precision={precision}"), metric)


@pytest.mark.parametrize(("experiment", "overrides", "metric"), SOLVED)
def test_solvers_run(tmp_path, experiment, overrides, metric):
    run_and_check(tmp_path, experiment, overrides, metric)


def run_and_check(tmp_path, experiment, overrides, metric):
    run = plan_run(f"symmetric_diffusers/{experiment}", overrides)
    execute(tmp_path / "run", run.config)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())["metrics"]
    assert metric in metrics
    assert metrics["n_samples"] == 8
