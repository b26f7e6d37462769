"""FID and its like by configuration: miniatures, no classifier, another network of features."""

import json

import pytest
import torch

from jumpbench.cli.main import main
from jumpbench.errors import UserError
from jumpbench.evaluations.features import FeatureEvaluation, features_of
from jumpbench.samplers.draws import Draws
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import Selection, build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded

NETWORK = """\
import torch

class Features(torch.nn.Module):
    def __init__(self, width=6):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.weight = torch.randn(3 * 16 * 16, width, generator=generator) / 100

    def forward(self, images):
        rows = images.float().flatten(1) @ self.weight / 255
        return rows.tanh(), rows[:, :4]
"""
SMOKE = ["scale=blackout/fid_smoke", "trainer.accelerator=cpu"]


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUMPBENCH_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setenv("JUMPBENCH_MODULES", "features_of_mine")
    (tmp_path / "features_of_mine.py").write_text(NETWORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "outputs" / "runs" / "blackout"


def metrics(folder, name):
    (file,) = folder.glob(f"{name}*/metrics.json")
    return json.loads(file.read_text())["metrics"]


@pytest.mark.parametrize("scale", ["fid_smoke", "fid_small"])
def test_no_classifier_is_needed(scale):
    run = plan_run("blackout/fid", expanded([f"scale=blackout/{scale}"]))
    methods = [need.config["method"]["_target_"].rsplit(".", 1)[-1] for need in run.with_needs()]
    assert methods == ["InceptionMoments", "Blackout", "Blackout", "SavedSamples"]


def test_the_tables_judge_the_samples_that_they_have():
    judged, given = "Instantaneous loss, Binomial: samples", "Instantaneous loss, Binomial sampling"
    both = "Instantaneous loss? Binomial*"
    cells = build(load("blackout/table1"), Selection("paper", "[0]", both))
    rows = {cell.row.name: cell.runs[0] for cell in cells}
    assert rows[given].needs["samples"].hash == rows[judged].hash


def test_weights_of_ones_own_reach_the_reference_too():
    run = plan_run("blackout/fid", ["evaluation.weights=/elsewhere/inception.pth"])
    assert run.config["evaluation"]["weights"] == "/elsewhere/inception.pth"
    assert run.needs["reference"].config["method"]["weights"] == "/elsewhere/inception.pth"


def test_without_inception_nothing_is_trained(outputs, monkeypatch, capsys):
    monkeypatch.setattr("jumpbench.evaluations.images.find_spec", lambda name: None)
    assert main(["run", "experiment=blackout/fid", *SMOKE]) == 1
    said = capsys.readouterr()
    lines = [line for line in (said.out + said.err).splitlines() if "torch-fidelity" in line]
    assert len(lines) == 1 and "extra 'fid'" in lines[0]
    assert not list(outputs.glob("*/checkpoints")) and not list(outputs.glob("*/metrics.json"))


@pytest.mark.slow
def test_both_paths_from_training_to_a_distance(outputs, monkeypatch, capsys):
    """Features of one's own by configuration; FID with Inception's place taken by the same
    network: the same samples, trained once, and the same distance."""
    given = ["experiment=blackout/frechet", "features._target_=features_of_mine.Features"]
    assert main(["run", *given, *SMOKE]) == 0, capsys.readouterr()
    own = metrics(outputs, "frechet-16px")
    assert own["frechet"] > 0 and own["score"] >= 1
    assert (own["frechet_samples"], own["frechet_reference"]) == (12, 200)

    from features_of_mine import Features

    def inception(images, scale=1, batch_size=250, weights=None):
        return features_of(Features(), images, scale, batch_size)

    for module in ("evaluations.images", "methods.common.inception_moments"):
        monkeypatch.setattr(f"jumpbench.{module}.inception", inception)
    monkeypatch.setattr(
        "jumpbench.evaluations.images.InceptionEvaluation.check_files", lambda **_: 0
    )
    assert main(["run", "experiment=blackout/fid", *SMOKE]) == 0, capsys.readouterr()
    fid = metrics(outputs, "fid-16px")
    assert fid["fid"] == pytest.approx(own["frechet"]) and fid["is"] == pytest.approx(own["score"])
    assert len(list(outputs.glob("blackout-16px-*"))) == 1


def test_another_network_than_the_references_is_refused(tmp_path):
    images = torch.randint(0, 256, (4, 1, 4, 4), dtype=torch.uint8)
    weight = torch.randn(16, 3)
    probed = images[:1].flatten(1).double() @ weight.double()
    kept = {"mean": torch.zeros(3), "covariance": torch.eye(3), "reference_count": 9}
    torch.save({**kept, "probe": images[:1], "probed": probed}, tmp_path / "samples.pt")

    def other(x):
        return x.flatten(1).float() @ (weight + 1)

    scores = FeatureEvaluation(str(tmp_path), other)
    scores.update(Draws(images), {})
    with pytest.raises(UserError, match="must load its weights from a file, or seed them"):
        scores.results()
    scores.features = lambda x: x.flatten(1).float() @ weight
    assert scores.results()["frechet_samples"] == 4
    with pytest.raises(UserError, match=r"gives \(4,\) for 4 images; \(4, F\) is needed"):
        features_of(lambda x: x.float().mean((1, 2, 3)), images)
