"""FID and its like by configuration: miniatures, no classifier, another network of features."""

import json

import pytest
import torch

from jumpbench.cli.main import main
from jumpbench.data.counts import CountData
from jumpbench.data.numbers import Numbers
from jumpbench.data.training_images import TrainingImages
from jumpbench.errors import UserError
from jumpbench.evaluations.frechet import (
    FeatureMomentsEvaluation,
    FrechetEvaluation,
    features_of,
)
from jumpbench.methods.common.image_features import ImageFeatures
from jumpbench.methods.common.shards import Shards
from jumpbench.samplers.draws import Draws
from jumpbench.tables.language.spec import load
from jumpbench.tables.planning.grid import build
from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.planning.scalefiles import expanded
from jumpbench.tables.planning.selection import Selection
from support import quiet_trainer

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


class FixedImages(CountData):
    maximum = 255

    def __init__(self, images):
        super().__init__(train_batch_size=4)
        self.images = images

    def counts(self, train):
        return self.images if train else self.images[:2]


SMOKE = ["scale=blackout/fid/smoke", "trainer.accelerator=cpu"]


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


@pytest.mark.parametrize("scale", ["smoke", "small"])
def test_no_classifier_is_needed(scale):
    run = plan_run("blackout/fid", expanded([f"scale=blackout/fid/{scale}"]))
    methods = [need.config["method"]["_target_"].rsplit(".", 1)[-1] for need in run.with_needs()]
    assert methods == ["ImageFeatures", "Blackout", "Blackout", "ImageFeatures"]


@pytest.mark.parametrize("scale", ["medium", "paper"])
def test_the_tables_judge_the_samples_that_they_have(scale):
    cells = build(load("blackout/table1"), Selection(scale, "[0]"))
    rows = {cell.row.name: cell.runs[0] for cell in cells}
    judged = [name for name in rows if name.endswith(" sampling")]
    assert len(judged) == 4
    for name in judged:
        samples = rows[name.replace(" sampling", ": samples")]
        assert rows[name].needs["samples"].hash == samples.hash


def test_what_is_said_of_the_features_reaches_the_reference_too():
    run = plan_run(
        "blackout/fid", ["features.weights=/elsewhere/inception.pth", "evaluation.scale=255"]
    )
    for each in (run, run.needs["reference"]):
        assert each.config["method"]["features"]["weights"] == "/elsewhere/inception.pth"
        assert each.config["method"]["scale"] == 255


def test_without_inception_nothing_is_trained(outputs, monkeypatch, capsys):
    monkeypatch.setattr("jumpbench.evaluations.inception.find_spec", lambda name: None)
    assert main(["run", "experiment=blackout/fid", *SMOKE]) == 1
    said = capsys.readouterr()
    lines = [line for line in (said.out + said.err).splitlines() if "torch-fidelity" in line]
    assert lines and all("extra 'fid'" in line for line in lines)
    assert not list(outputs.glob("*/checkpoints")) and not list(outputs.glob("*/metrics.json"))


def test_both_paths_from_training_to_a_distance(outputs, monkeypatch, capsys):
    """Features of one's own by configuration; FID with Inception's place taken by the same
    network: the same samples, trained once, and the same distance."""
    given = ["experiment=blackout/frechet", "features._target_=features_of_mine.Features"]
    assert main(["run", *given, *SMOKE]) == 0, capsys.readouterr()
    own = metrics(outputs, "frechet-16px")
    assert own["frechet"] > 0 and own["score"] >= 1
    assert (own["frechet_samples"], own["frechet_reference"]) == (12, 200)

    from features_of_mine import Features

    taken = "jumpbench.evaluations.inception.Inception"
    monkeypatch.setattr(f"{taken}.__call__", lambda _, images: Features()(images))
    monkeypatch.setattr(f"{taken}.check_files", lambda **_: 0)
    assert main(["run", "experiment=blackout/fid", *SMOKE]) == 0, capsys.readouterr()
    fid = metrics(outputs, "fid-16px")
    assert fid["fid"] == pytest.approx(own["frechet"]) and fid["is"] == pytest.approx(own["score"])
    assert len(list(outputs.glob("blackout-16px-*"))) == 1


def test_another_network_than_the_references_is_refused(tmp_path):
    images = torch.randint(0, 256, (4, 1, 4, 4), dtype=torch.uint8)
    weight = torch.randn(16, 3)
    probed = images[:1].flatten(1).float() @ weight
    kept = {"mean": torch.zeros(3), "covariance": torch.eye(3), "reference_count": 9}
    torch.save({**kept, "probe": images[:1], "probed": probed}, tmp_path / "samples.pt")

    def network(x):
        return x.flatten(1).float() @ weight

    def other(x):
        return x.flatten(1).float() @ (weight + 1)

    scores = FrechetEvaluation(str(tmp_path), other)
    scores.update(Draws(images, extras={"features": network(images)}), {})
    with pytest.raises(UserError, match="must load its weights from a file, or seed them"):
        scores.results()
    scores.features = network
    assert scores.results()["frechet_samples"] == 4
    with pytest.raises(UserError, match=r"gives \(4,\) for 4 images; \(4, F\) is needed"):
        features_of(lambda x: x.float().mean((1, 2, 3)), images)


@pytest.mark.parametrize("saved", [False, True])
def test_features_are_looked_at_once_whatever_stops_or_devices_there_are(saved, tmp_path):
    """Every batch is one shard; those that are there are not looked at again; the moments of any
    batches are those of all images."""
    images = torch.randint(0, 256, (10, 1, 4, 4), dtype=torch.uint8)
    torch.save({"samples": images}, tmp_path / "samples.pt")
    weight, looked = torch.randn(16, 3), []

    def network(x):
        looked.append(len(x))
        return x.flatten(1).float() @ weight

    source = FixedImages(images)
    data = Numbers(10, 4) if saved else TrainingImages(source, batch_size=4)
    for expected in ([4, 4, 2], []):
        looked.clear()
        method = ImageFeatures(
            network, str(tmp_path) if saved else None, evaluation=FeatureMomentsEvaluation()
        )
        method.shards = Shards(tmp_path / "draws")
        quiet_trainer(0).test(method, data, verbose=False)
        assert looked == expected and method.results["reference_count"] == 10
        rows = network(images).double()
        looked.clear()
        torch.testing.assert_close(method.artifacts["mean"], rows.mean(0))
        torch.testing.assert_close(method.artifacts["covariance"], torch.cov(rows.T))
    assert torch.equal(method.artifacts["probe"].byte(), images[:1])


def test_a_run_with_fewer_samples_is_refused(tmp_path):
    torch.save({"samples": torch.zeros(3, 1, 2, 2)}, tmp_path / "samples.pt")
    method = ImageFeatures(lambda x: x.flatten(1), str(tmp_path))
    with pytest.raises(UserError, match="holds 3 samples, fewer than the 4"):
        method.draw(torch.arange(4), torch.Generator())
