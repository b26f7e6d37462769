"""PSNR and classifier agreement against numbers written out."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.evaluations.binary_images import BinaryImageEvaluation
from jumpbench.metrics.images import psnr
from jumpbench.networks.digit_classifier import DigitClassifier
from jumpbench.samplers.draws import Draws
from support import FirstBits


def test_psnr_of_wrong_pixels():
    """Of 1,024: none 80 dB, 1 is 30.1, 10 is 20.1, 100 is 10.1."""
    truth = torch.zeros(4, 1024, dtype=torch.long)
    image = truth.clone()
    for row, wrong in enumerate((0, 1, 10, 100)):
        image[row, :wrong] = 1
    assert psnr(image, truth).tolist() == pytest.approx([80, 30.103, 20.103, 10.103], abs=1e-2)


def test_results():
    truth = torch.tensor([[0, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1], [0, 1, 0, 0]])
    samples = torch.tensor([[0, 0, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]])
    evaluation = BinaryImageEvaluation(FirstBits())
    for rows in (slice(0, 3), slice(3, 4)):
        kept = evaluation.keep({"states": truth[rows]})
        evaluation.update(
            Draws(samples[rows], extras={"a": torch.ones(rows.stop - rows.start)}), kept
        )
    results = evaluation.results()
    each = psnr(samples, truth)
    assert results["psnr"] == pytest.approx(float(each.mean()))
    assert results["psnr_std"] == pytest.approx(float(each.std()))
    assert results["accuracy"] == 75 and results["wrong_bits"] == 25 and results["a"] == 1
    assert torch.equal(evaluation.artifacts()["truth"].long(), truth)


def test_weights_that_do_not_fit_are_refused(tmp_path):
    weights = DigitClassifier(8).state_dict()
    torch.save({"network": weights}, tmp_path / "samples.pt")
    x = torch.randint(2, (5, 64))
    evaluation = BinaryImageEvaluation(DigitClassifier(8), tmp_path)
    evaluation.update(Draws(x), {"states": x.to(torch.uint8)})
    assert evaluation.results()["accuracy"] == 100
    for classifier in (DigitClassifier(8, classes=3), DigitClassifier(16)):
        evaluation = BinaryImageEvaluation(classifier, tmp_path)
        evaluation.update(Draws(x), {"states": x.to(torch.uint8)})
        with pytest.raises(UserError, match="do not fit this network"):
            evaluation.results()
    with pytest.raises(UserError, match="has not finished"):
        evaluation.weights = tmp_path / "absent"
        evaluation.results()


def test_the_classifier_of_the_paper():
    network = DigitClassifier(32)
    assert sum(p.numel() for p in network.parameters()) == 41_130
    assert network.features(torch.randint(2, (3, 1024))).shape == (3, 4096)
