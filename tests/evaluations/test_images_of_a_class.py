"""Images of one class: accuracy, distance to real ones, and how many real ones that takes."""

import pytest
import torch

from jumpbench.data.binary_mnist import BinaryMnist
from jumpbench.errors import UserError
from jumpbench.evaluations.images_of_a_class import ImageClassEvaluation
from jumpbench.metrics.intrinsic_distance import msid
from jumpbench.networks.digit_classifier import DigitClassifier
from jumpbench.samplers.draws import Draws


class InkJudge(torch.nn.Module):
    """Class 1 if the first bit is set; the features are the bits."""

    def features(self, x):
        return x.double()

    def forward(self, x):
        return torch.nn.functional.one_hot(x[:, 0].long(), 2).double()


def test_results():
    data = BinaryMnist(16, generated=1000)
    zeros = data.split("train")["states"][data.split("train")["labels"] == 0]
    samples = torch.ones(40, 256, dtype=torch.long).tril(20)  # along a line, unlike digits
    evaluation = ImageClassEvaluation(InkJudge(), data, wanted=0)
    for part in (samples[:15], samples[15:]):
        evaluation.update(Draws(part, extras={"a": torch.ones(len(part))}), {})
    results, truth = evaluation.results(), evaluation.artifacts()["truth"]
    assert results["accuracy"] == pytest.approx(100 * float((samples[:, 0] == 0).double().mean()))
    assert results["msid"] == pytest.approx(msid(samples, truth)) and results["a"] == 1
    assert results["msid"] > 1.5 * results["msid_floor"] > 0
    assert len(truth) == 40 and all(bool((zeros == row).all(1).any()) for row in truth)


def test_too_few_real_images():
    evaluation = ImageClassEvaluation(DigitClassifier(16), BinaryMnist(16, generated=40))
    evaluation.update(Draws(torch.zeros(30, 256, dtype=torch.long)), {})
    with pytest.raises(UserError, match="training images of class 0"):
        evaluation.results()
