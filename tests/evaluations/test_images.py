"""Scores of images: against direct computation, the protocol of FID, refusals."""

import hashlib
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from jumpbench.data.weights import INCEPTION
from jumpbench.errors import DataMissing, UserError
from jumpbench.evaluations.frechet import FrechetEvaluation
from jumpbench.evaluations.images import ImageEvaluation
from jumpbench.evaluations.inception import Inception
from jumpbench.evaluations.labels import LabelEvaluation
from jumpbench.metrics.frechet import FeatureMoments, frechet_distance, inception_score
from jumpbench.metrics.images import contrast_distance, grey_distance
from jumpbench.networks.image_classifier import ImageClassifier
from jumpbench.samplers.draws import Draws


def pictures(count, seed, size=8):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 2, (count, 1, size, size), generator=generator, dtype=torch.uint8)


@pytest.fixture
def trained(tmp_path):
    """A classifier's folder, as its run leaves it."""
    torch.manual_seed(0)
    network = ImageClassifier(size=8, width=4, features=6)
    reference = pictures(300, 1)
    moments = FeatureMoments()
    moments.update(network.judged(reference)[0])
    mean, covariance = moments.compute()
    artifacts = {
        "network": network.state_dict(), "mean": mean, "covariance": covariance,
        "reference_count": 300, "nearest": reference,
    }  # fmt: skip
    torch.save(artifacts, tmp_path / "samples.pt")
    return network, reference, tmp_path


def judged(folder, *batches, size=8):
    scores = ImageEvaluation(ImageClassifier(size=size, width=4, features=6), str(folder), shown=7)
    scores.reset()
    for draws in batches:
        scores.update(draws, {})
    return scores


def test_scores_are_those_of_all_batches_together(trained):
    network, reference, folder = trained
    images = pictures(90, 2)
    whole = judged(folder, Draws(images)).results()
    parts = judged(folder, Draws(images[:40]), Draws(images[40:])).results()
    assert whole == pytest.approx(parts, rel=1e-6)
    features, probabilities = network.judged(images)
    mean, covariance = features.double().mean(0), torch.cov(features.double().T)
    moments = FeatureMoments()
    moments.update(network.judged(reference)[0])
    expected = frechet_distance(mean, covariance, *moments.compute())
    assert math.isclose(whole["classifier_frechet"], expected, rel_tol=1e-6)
    assert whole["confident"] == float((probabilities.amax(1) > 0.9).double().mean())
    assert math.isclose(whole["mean"], images.double().mean())
    nearest = [min(int((a != b).sum()) for b in reference) for a in images]
    assert math.isclose(whole["nearest_hamming"], sum(nearest) / 90)


def test_the_reference_itself_is_at_distance_zero(trained):
    _, reference, folder = trained
    scores = judged(folder, Draws(reference))
    values = scores.results()
    assert abs(values["classifier_frechet"]) < 1e-4 and values["nearest_hamming"] == 0
    assert len(scores.artifacts()["images"]) == 7


def test_bounds_are_averaged_over_held_out_images(trained):
    folder = trained[2]
    bounds = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    values = judged(folder, Draws(pictures(2, 3), extras={"bound": bounds})).results()
    assert values["bound"] == 3.0
    assert math.isclose(values["bound_error"], float(bounds.std()) / 2, rel_tol=1e-6)
    assert math.isclose(values["bits_per_dim"], 3.0 / (64 * math.log(2)))
    error = float(bounds.std()) / 2 / (64 * math.log(2))
    assert math.isclose(values["bits_per_dim_error"], error, rel_tol=1e-6)


def test_grey_images_are_judged_by_their_histograms(tmp_path):
    """Distances to the training images that the classifier's run kept; none for bits."""
    torch.manual_seed(0)
    network = ImageClassifier(size=8, width=4, features=6, maximum=255)
    reference, images = 100 * pictures(300, 1), 100 * pictures(20, 2) + 30
    artifacts = {
        "network": network.state_dict(), "mean": torch.zeros(6).double(),
        "covariance": torch.eye(6).double(), "reference_count": 300, "nearest": reference,
    }  # fmt: skip
    torch.save(artifacts, tmp_path / "samples.pt")
    scores = ImageEvaluation(network, str(tmp_path))
    scores.update(Draws(images), {})
    values = scores.results()
    assert values["grey_distance"] == grey_distance(images, reference, 255)
    assert abs(values["grey_distance"] - 30) < 5
    assert values["contrast_distance"] == contrast_distance(images, reference, 255)
    assert "nearest_hamming" not in values


def test_black_images_are_counted(trained):
    images = pictures(10, 4)
    images[:3] = 0
    assert judged(trained[2], Draws(images)).results()["black"] == 0.3


def test_images_of_another_size_than_the_reference_are_refused(trained):
    with pytest.raises(UserError, match="cannot be judged by a reference"):
        judged(trained[2], Draws(pictures(5, 0, size=16))).results()
    with pytest.raises(UserError, match="has not finished"):
        judged(trained[2] / "nowhere", Draws(pictures(5, 0))).results()


def test_without_its_weights_fid_is_missing_data(monkeypatch, tmp_path):
    def no_network(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    monkeypatch.setattr(torch.hub, "download_url_to_file", no_network)
    with pytest.raises(DataMissing, match=r"put weights-inception-2015-12-05-6726825d.pth into"):
        Inception()(pictures(4, 0))


def test_without_its_library_fid_is_missing_data(monkeypatch, tmp_path):
    path = tmp_path / "inception.pth"
    path.write_bytes(b"weights")
    monkeypatch.setattr(
        "jumpbench.evaluations.inception.INCEPTION",
        replace(INCEPTION, sha256=hashlib.sha256(b"weights").hexdigest()),
    )
    monkeypatch.setitem(sys.modules, "torch_fidelity", None)
    monkeypatch.setitem(sys.modules, "torch_fidelity.feature_extractor_inceptionv3", None)
    with pytest.raises(DataMissing, match="torch-fidelity"):
        Inception(str(path))(pictures(4, 0))


def looked_at(images, projection):
    features = images.flatten(1).float() @ projection
    return Draws(images, extras={"features": features, "logits": features})


def test_fid_and_its_protocol(tmp_path):
    """The arithmetic around the network, which is random projections."""
    torch.manual_seed(0)
    projection = torch.randn(64, 5)
    moments = FeatureMoments()
    moments.update(looked_at(pictures(500, 5), projection).extras["features"])
    mean, covariance = moments.compute()
    reference = {"mean": mean, "covariance": covariance, "reference_count": 500}
    torch.save(reference, tmp_path / "samples.pt")
    scores = FrechetEvaluation(str(tmp_path), torch.nn.Identity(), distance="fid", score="is")
    for seed in (6, 7):
        scores.update(looked_at(pictures(200, seed), projection), {})
    values = scores.results()
    features = looked_at(torch.cat([pictures(200, 6), pictures(200, 7)]), projection).extras
    ours = FeatureMoments()
    ours.update(features["features"])
    assert math.isclose(values["fid"], frechet_distance(*ours.compute(), mean, covariance))
    assert values["is"] == inception_score(features["logits"].double().softmax(-1)) > 1
    assert values["fid_samples"] == 400 and values["fid_reference"] == 500


def test_accuracy():
    accuracy = LabelEvaluation()
    kept = accuracy.keep({"labels": torch.tensor([1, 2, 3, 3]), "counts": torch.zeros(4, 1)})
    accuracy.update(Draws(torch.tensor([1, 2, 0, 3])), kept)
    assert accuracy.results() == {"accuracy": 75.0}


def test_published_statistics_are_a_reference(tmp_path):
    """A .npz with mu and sigma gives the distance to them, and no number of images."""
    rows = torch.randn(50, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    kept = tmp_path / "published.npz"
    np.savez(kept, mu=rows.mean(0).numpy() + 2, sigma=torch.cov(rows.T).numpy())
    scores = FrechetEvaluation(str(kept), torch.nn.Identity(), distance="fid", score="is")
    sure = 1e3 * torch.eye(50)
    draws = Draws(torch.zeros(50, 1, 2, 2), extras={"features": rows, "logits": sure})
    scores.update(draws, {})
    results = scores.results()
    assert results["fid"] == pytest.approx(3 * 2**2) and results["is"] == pytest.approx(50)
    assert results["fid_samples"] == 50 and "fid_reference" not in results
    np.savez(kept, mu=np.zeros(3), sigma=np.eye(2))
    with pytest.raises(UserError, match=r"sigma \(2, 2\) are no"):
        scores.results()
    for content in (b"no archive", b""):
        kept.write_bytes(content)
        with pytest.raises(UserError, match="mu and sigma cannot be read"):
            scores.results()
