"""Decoded images against true ones: PSNR, its ceiling, and LPIPS where its weights are."""

import pytest
import torch

from jumpbench.errors import DataMissing, UserError
from jumpbench.evaluations import decoded_images
from jumpbench.evaluations.decoded_images import DecodedImageEvaluation, PerceptualEvaluation
from jumpbench.metrics.images import psnr
from jumpbench.networks.vq_autoencoder import VqAutoencoder
from jumpbench.samplers.draws import Draws


def test_psnr_and_its_ceiling():
    torch.manual_seed(2)
    network = VqAutoencoder(channels=1, widths=(4, 8), codes=3, dimension=2, blocks=1)
    codes, samples = (torch.randint(3, (4, 4)) for _ in range(2))
    with torch.no_grad():
        truth = ((network.decode(codes).clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
        shown = (network.decode(samples).clamp(-1, 1) + 1) / 2
    evaluation = DecodedImageEvaluation(network)
    for rows in (slice(0, 3), slice(3, 4)):
        kept = evaluation.keep({"images": truth[rows], "states": codes[rows]})
        evaluation.update(Draws(samples[rows]), kept)
    results = evaluation.results()
    assert results["psnr"] == pytest.approx(float(psnr(shown, truth.double() / 255).mean()))
    assert results["psnr_ceiling"] > 50 > results["psnr"]  # the truth is rounded to 256 greys
    artifacts = evaluation.artifacts()
    assert torch.equal(artifacts["truth"], truth)
    torch.testing.assert_close(artifacts["images"].float() / 255, shown, atol=0.003, rtol=0)


class Darker:
    """A distance for the test: the mean difference."""

    def __call__(self, a, b):
        assert a.shape[1:] == (3, 8, 8) and float(a.max()) <= 1
        return (a - b).abs().mean()


def test_lpips_over_the_images_of_a_run(tmp_path, monkeypatch):
    images = torch.full((3, 1, 8, 8), 51, dtype=torch.uint8)
    torch.save({"images": images, "truth": torch.zeros_like(images)}, tmp_path / "samples.pt")
    monkeypatch.setattr(decoded_images, "perceptual_metric", lambda network: Darker())
    results = PerceptualEvaluation(tmp_path).results()
    assert results == {"lpips": pytest.approx(0.2), "lpips_std": pytest.approx(0)}
    torch.save({"samples": images}, tmp_path / "samples.pt")
    with pytest.raises(UserError, match="no images"):
        PerceptualEvaluation(tmp_path).results()


def test_features_that_are_not_here_are_missing_data(tmp_path, monkeypatch):
    def no_network(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    monkeypatch.setattr(torch.hub, "download_url_to_file", no_network)
    with pytest.raises(
        DataMissing, match=r"put vgg16-397923af.pth into .*checkpoints.*no route to"
    ):
        decoded_images.perceptual_metric("vgg")
    with pytest.raises(DataMissing, match=r"alex features .*no route to host.*checkpoints"):
        decoded_images.perceptual_metric("alex")
