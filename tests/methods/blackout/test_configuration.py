"""The composed runs of the paper scale have the settings that the paper states."""

import math
from pathlib import Path

import pytest
import torch
import yaml
from hydra.utils import instantiate

from jumpbench.data.cifar10 import load_cifar10
from jumpbench.errors import DataMissing
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build, unique_runs
from jumpbench.tables.planning.selection import Selection

FACTS = yaml.safe_load((Path(__file__).parents[2] / "facts" / "blackout.yaml").read_text())


def stated(table):
    found = next(t for t in FACTS["tables"] if t["id"] == table)["cells"]
    return {(cell["row"], cell["metric"]): cell["value"] for cell in found}


def chain(table, row, column="*", scale="paper"):
    """Configurations behind one row of a table, by method and stages."""
    cells = build(load(f"blackout/{table}"), Selection(scale, "[0]", row, column))
    runs = [run for top in unique_runs(cells) for run in top.with_needs()]
    found = {}
    for run in runs:
        method = run.whole["method"]["_target_"].rsplit(".", 1)[-1]
        found[f"{method}/{'+'.join(run.whole['stages'])}"] = run.whole
    return found


def parameters(config):
    with torch.device("meta"):
        network = instantiate(config["method"]["network"], _convert_="all")
    return sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("loss", ["Instantaneous", "Finite-time"])
def test_cifar10(loss):
    paper = {row: value for (row, _), value in stated("setup_cifar10").items()}
    runs = chain("table1", f"{loss} loss, Binomial sampling")
    trained, sampled, fid = (
        runs[key] for key in ("Blackout/fit", "Blackout/test", "ImageFeatures/test")
    )
    assert trained["data"]["train_batch_size"] == paper["batch size"]
    assert trained["trainer"]["max_steps"] == paper["training iterations"]
    assert sampled["data"]["n_samples"] == paper["samples for FID/IS"]
    for run in (trained, sampled):
        grid = run["method"]["grid"]
        assert grid["steps"] == paper["observation times T"]
        assert grid["last"] == paper["final time t_T"]
        assert run["method"]["process"]["maximum"] == 255
        assert parameters(run) == 62_693_251
    assert trained["data"]["flip"] and trained["method"]["optimizer"]["lr"] == 2e-4
    assert trained["trainer"]["callbacks"][0]["decay"] == 0.9999
    assert trained["method"]["input_scale"] == trained["method"]["output_scale"] == 1.0
    assert sampled["method"]["stride"] == 1 and sampled["method"]["corrector"]["repeats"] == 0
    assert sampled["method"]["step"]["rounding"]["_target_"].endswith("nearest")
    assert fid["evaluation"]["scale"] == 1
    weight = trained["method"]["weight"]["_target_"].rsplit(".", 1)[-1]
    assert weight == loss.lower().replace("-", "_")


def test_binarised_mnist():
    paper = {metric: value for (_, metric), value in stated("appendixH").items()}
    runs = chain("table2", "Binarized MNIST: BlackOut", "FID")
    trained, sampled = runs["Blackout/fit"], runs["Blackout/test"]
    assert trained["trainer"]["max_steps"] == paper["iterations"]
    assert trained["data"]["train_batch_size"] == paper["batch_size"]
    assert trained["data"]["size"] == paper["image_size"]
    assert sampled["data"]["n_samples"] == paper["samples"]
    assert trained["method"]["grid"]["last"] == 10
    assert parameters(trained) == 62_686_337
    assert trained["method"]["weight"]["_target_"].endswith("instantaneous")
    assert sampled["method"]["step"]["_target_"].endswith("PoissonLeap")


def test_celeba_and_the_corrector():
    celeba = chain("table2", "CelebA: BlackOut", "FID")
    assert celeba["Blackout/fit"]["data"]["size"] == 64
    assert parameters(celeba["Blackout/fit"]) == 62_693_251
    assert "ImageClassification/fit+test" not in celeba, "faces have no classes"
    assert celeba["Blackout/test"]["method"]["evaluation"] is None
    plain = chain("table2", "CIFAR10: BlackOut (no corrector)", "FID")
    corrected = chain("table2", "CIFAR10: BlackOut (2 corrector)", "FID")
    assert corrected["Blackout/test"]["method"]["corrector"]["repeats"] == 2
    assert corrected["Blackout/fit"] == plain["Blackout/fit"], "one training serves both"


def test_the_tables_share_their_trainings():
    best = "Instantaneous loss, Binomial sampling"
    first = chain("table1", best)["Blackout/fit"]
    assert chain("table2", "CIFAR10: BlackOut (no corrector)", "FID")["Blackout/fit"] == first
    assert chain("table3", "Blackout", "FID")["Blackout/fit"] == first
    poisson = chain("table1", "Instantaneous loss, Poisson sampling")
    assert poisson["Blackout/fit"] == first


def test_y_by_time_starts_at_the_mean_of_the_training_pixels():
    """Both rows share one training; 174 is the mean of all training pixels, 120.7, over log 2."""
    rows = [f"Instantaneous loss, y by time, {name}: samples" for name in ("Binomial", "Poisson")]
    runs = [chain("table1", row, scale="small") for row in rows]
    method = runs[0]["Blackout/fit"]["method"]
    assert runs[0]["Blackout/fit"] == runs[1]["Blackout/fit"]
    assert method["output_by_time"] and method["output_scale"] == 174
    plain = chain("table1", "Instantaneous loss, Poisson: samples", scale="small")
    changed = {**method, "output_by_time": False}
    changed["output_scale"] = plain["Blackout/fit"]["method"]["output_scale"]
    assert changed == plain["Blackout/fit"]["method"], "nothing else differs"
    try:
        pixels = load_cifar10(train=True)[0]
    except DataMissing:
        pytest.skip("CIFAR-10 is not here")
    assert abs(pixels.double().mean() / math.log(2) - 174) < 0.5


@pytest.mark.parametrize("scale", ["smoke", "small", "medium", "paper"])
def test_chance_and_independent_pixels_stand_beside_every_likelihood(scale):
    for name in ("table1", "mnist"):
        table = load(f"blackout/{name}")
        if scale in table.scales:
            cells = build(table, Selection(scale, "[0]"))
            rows = {c.row.name for c in cells if c.metric.name == "bits_per_dim" and c.asked}
            assert {"Uniform noise", "Independent pixels"} <= rows and len(rows) > 2


def test_facts_are_not_measured():
    """Words about the process and settings that a run echoes; a bound's error is the run's."""
    for name in ("table2", "table3"):
        metrics = load(f"blackout/{name}").metrics.values()
        assert [m.name for m in metrics if not m.fact] == ["fid"]
    for name in ("table1", "mnist"):
        metrics = load(f"blackout/{name}").metrics
        assert metrics["bits_per_dim"].error == "bits_per_dim_error"
        assert "confident" not in metrics or name == "mnist"


def test_the_exact_table_judges_no_claim_of_the_paper():
    table = load("blackout/exact")
    assert "256 smooth levels, T=1000" in {column.name for column in table.columns}
    for claim in table.claims:
        assert "C1" not in claim.text and "C2" not in claim.text and "published" not in claim.text


def test_miniatures_have_the_small_network():
    runs = chain("mnist", "Finite-time loss, Poisson", scale="small")
    assert parameters(runs["Blackout/fit"]) == 321_921
    assert runs["Blackout/fit"]["trainer"]["max_steps"] == 1600
    longer = chain("mnist", "Finite-time loss, Poisson", "Longer training", scale="medium")
    assert longer["Blackout/fit"]["trainer"]["max_steps"] == 20_000
    for key in ("data", "method"):  # the images and the network of small
        assert longer["Blackout/fit"][key] == runs["Blackout/fit"][key]
    medium = chain("mnist", "Finite-time loss, Poisson", "Binarised MNIST", scale="medium")
    assert medium["Blackout/fit"]["data"]["size"] == 32
    assert parameters(medium["Blackout/fit"]) == 1_278_209
