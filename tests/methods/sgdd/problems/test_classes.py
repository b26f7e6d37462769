"""Guidance by a classifier: its law on an enumerable space, and classes that do not exist."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd import MetropolisStep
from jumpbench.methods.sgdd.problems.classes import ClassProblem
from jumpbench.networks.digit_classifier import DigitClassifier


def problem(**options):
    torch.manual_seed(3)
    return ClassProblem(2, DigitClassifier(2, classes=3), sigma=0.5, **options)


def test_the_likelihood_step_follows_the_classifier(space, generator):
    """All 16 images of 2 x 2 bits, tied to nothing: p(z) ~ p(class|z)^(1/sigma)."""
    states = space(2, 4)
    guided = problem(wanted=1)
    with torch.no_grad():
        given = guided.classifier(states.states).double().log_softmax(-1)[:, 1]
    batch = {"states": torch.zeros(5000, 4, dtype=torch.long)}
    likelihood = guided.likelihood(batch)
    torch.testing.assert_close(likelihood.log_likelihood(states.states), 2 * given)
    assert guided.n_chains(batch) == 5000 and guided.length == 4
    start = batch["states"]
    z, _ = MetropolisStep(60)(start, start, 0.0, likelihood, 2, generator)
    law = (2 * given).softmax(0)
    states.assert_law(z, law)
    assert (law - 1 / 16).abs().sum() / 2 > 0.05


def test_bad_classes_and_scales():
    with pytest.raises(UserError, match="class 3 is asked for, but the classifier has 3"):
        problem(wanted=3).likelihood({"states": torch.zeros(1, 4)}).log_likelihood(
            torch.zeros(1, 4, dtype=torch.long)
        )
    with pytest.raises(UserError, match="sigma > 0"):
        ClassProblem(2, DigitClassifier(2), sigma=0.0)


def test_weights_of_other_classes_are_refused(tmp_path):
    torch.save({"network": DigitClassifier(2, classes=5).state_dict()}, tmp_path / "samples.pt")
    with pytest.raises(UserError, match="do not fit this network"):
        ClassProblem(2, DigitClassifier(2, classes=3), tmp_path)
