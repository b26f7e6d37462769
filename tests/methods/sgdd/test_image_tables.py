"""SGDD's image tables as composed: the paper's settings, and runs that several tables share."""

from pathlib import Path

import pytest
import torch
import yaml
from hydra.utils import instantiate
from lightning import Trainer

from jumpbench.evaluations import decoded_images
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.models import load_model
from jumpbench.tables.planning.selection import Selection

FACTS = yaml.safe_load((Path(__file__).parents[2] / "facts" / "sgdd.yaml").read_text())


def stated(table, metric):
    cells = next(t for t in FACTS["tables"] if t["id"] == table)["cells"]
    return {cell["row"]: cell["value"] for cell in cells if cell["metric"] == metric}


def runs(table, row, column, scale="paper"):
    """The different runs of some cells, without those that they need."""
    cells = build(load(f"sgdd/{table}"), Selection(scale, "[0]", row, column))
    return list({run.hash: run for cell in cells for run in cell.runs}.values())


def test_table6_has_the_settings_that_it_prints():
    iterations, steps = stated("table6", "iterations"), stated("table6", "prior_steps")
    for row, count in iterations.items():
        (run,) = runs("table6", row, "*")  # all columns are of one run
        sampler = run.whole["method"]["sampler"]
        assert sampler.get("n_iterations", sampler.get("n_steps")) == count
        assert sampler.get("prior_steps") == steps.get(row)
        assert run.whole["data"]["n_samples"] == 10 <= run.whole["data"]["batch_size"]
        assert sampler.get("likelihood_step", {}).get("n_proposals", 2000) == 2000
        assert sampler.get("particles", sampler.get("candidates", 20)) == 20


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_figure5_and_table6_share_their_runs(scale):
    """At medium the figure has more images, as Table 4."""
    for row in stated("table6", "prior_steps"):
        (one,) = runs("table6", row, "Runtime", scale)
        (other,) = runs("figure5", row, "XOR", scale)
        assert one.hash == other.hash


TRAINED = [("figure6", "SGDD", "gamma=2")]
STARTED = [
    ("table9", "SMC", "MSID"),
    ("table6", "SGDD-1k", "Runtime"),
    ("figure3", "SGDD", "a 9"),
    ("figure4", "annealed", "k = 50"),
]


def priors(places, scale):
    return {runs(*place, scale)[0].needs["prior"].hash for place in places}


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_binary_digits_have_one_prior(scale):
    assert len(priors([*TRAINED, *STARTED], scale)) == 1


def test_binary_digits_of_medium_have_one_prior_from_its_run_or_from_its_model():
    """See test_models for the tables that start from the model."""
    (trained,) = priors(TRAINED, "medium")
    assert load_model("sgdd/mnist-32").card["trained"]["run"].endswith(f"-{trained}")


def test_guide_and_judge_of_table9_are_two():
    (run,) = runs("table9", "SGDD", "*")
    assert run.needs["guide"].hash != run.needs["judge"].hash
    assert run.whole["method"]["problem"]["wanted"] == 0
    assert run.whole["method"]["sampler"]["n_iterations"] == 50


def test_the_medium_prior_is_one_that_two_cores_train():
    (run,) = runs("figure6", "SGDD", "gamma=2", "medium")
    with torch.device("meta"):
        network = instantiate(run.needs["prior"].config["method"]["network"], _convert_="all")
    assert sum(p.numel() for p in network.parameters()) == 2_335_970
    sampler, data = run.whole["method"]["sampler"], run.whole["data"]
    assert (sampler["n_iterations"], sampler["prior_steps"]) == (50, 20)
    assert sampler["likelihood_step"]["n_proposals"] == 2000
    assert (data["side"], data["n_samples"]) == (32, 10)


@pytest.mark.parametrize(("column", "proposals"), [("XOR", 2000), ("AND", 5000)])
def test_table4_of_medium_has_the_published_proposals_and_equal_evaluations(column, proposals):
    (run,) = runs("table4", "SGDD", column, "medium")
    sampler = run.whole["method"]["sampler"]
    assert sampler["n_iterations"] * sampler["prior_steps"] == 1000
    assert sampler["likelihood_step"]["n_proposals"] == proposals


@pytest.mark.parametrize("scale", ["small", "medium", "paper"])
def test_lpips_judges_the_images_of_the_other_column(scale):
    for row in ("SVDD-PM", "SGDD"):
        (sampled,) = runs("table8", row, "PSNR", scale)
        (judged,) = runs("table8", row, "LPIPS", scale)
        assert judged.needs["samples"].hash == sampled.hash
        assert sampled.needs["prior"].needs["vq"].hash == sampled.needs["vq"].hash


def test_table8_has_the_settings_of_the_released_code():
    (run,) = runs("table8", "SGDD", "PSNR")
    sampler = run.whole["method"]["sampler"]
    assert (sampler["n_iterations"], sampler["prior_steps"]) == (70, 64)
    assert sampler["likelihood_step"]["n_proposals"] == 5000 and sampler["penalty"]["factor"] == 10
    assert run.whole["data"]["length"] == 1024 and run.whole["data"]["n_samples"] == 100


def test_the_lpips_column_runs(tmp_path, monkeypatch):
    """From the folder of the other run to the number, with a distance that needs no weights."""
    (judged,) = runs("table8", "SGDD", "LPIPS", "small")
    images = torch.full((3, 1, 8, 8), 51, dtype=torch.uint8)
    saved = {"samples": torch.zeros(3, 4), "images": images, "truth": torch.zeros_like(images)}
    torch.save(saved, tmp_path / "samples.pt")
    config = judged.config["method"] | {"folder": str(tmp_path)}
    config["evaluation"] = config["evaluation"] | {"folder": str(tmp_path)}
    monkeypatch.setattr(
        decoded_images, "perceptual_metric", lambda network: lambda a, b: (a - b).abs().mean()
    )
    method = instantiate(config, _convert_="all")
    trainer = Trainer(accelerator="cpu", logger=False, enable_progress_bar=False)
    data = judged.config["data"] | {"n_samples": 3, "batch_size": 3}
    trainer.test(method, instantiate(data), verbose=False)
    assert method.results["lpips"] == pytest.approx(0.2) and method.results["n_samples"] == 3
