"""The chain of Theorem 6 reaches any law, and Figure 3 shows it."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.symmetric_diffusers.reached_laws import ReachedLaws, chain_to, laws_along
from jumpbench.seeding import make_generator


@pytest.mark.parametrize("n", [2, 3, 4])
def test_any_law_is_reached(n):
    generator = make_generator(n, "targets")
    size = math.factorial(n)
    targets = torch.rand(4, size, generator=generator, dtype=torch.float64)
    targets[1, ::3] = 0  # some states without mass
    targets[2] = torch.eye(size)[size // 2]  # a point mass
    targets[3, size // 2 :] = 0  # nothing left before the last pairs
    for target in targets / targets.sum(-1, keepdim=True):
        final = laws_along(target, n)[-1]
        assert (final - target).abs().max() < 1e-15 * size


def test_worked_example():
    steps = laws_along(torch.tensor([0.25, 0.5, 0, 0.25, 0, 0], dtype=torch.float64), 3)
    expected = [
        [1 / 6] * 6,
        [0, 1, 0, 0, 0, 0],
        [0.25, 0.75, 0, 0, 0, 0],
        [0, 0.75, 0, 0.25, 0, 0],
        [0.25, 0.5, 0, 0.25, 0, 0],
    ]
    assert len(steps) == len(expected)
    for law, masses in zip(steps, expected, strict=True):
        assert law.tolist() == pytest.approx(masses, abs=1e-15)


@pytest.mark.parametrize("target", [[0.5, 0.6], [-0.1, 1.1], [1.0]])
def test_targets_that_are_no_laws_are_refused(target):
    with pytest.raises(ValueError, match="probability vector of 2"):
        list(chain_to(torch.tensor(target), 2))


def test_laws_are_reported_after_every_step():
    method = ReachedLaws(n=3, target=[0.25, 0.5, 0, 0.25, 0, 0])
    found = method.further_results()
    assert found["mass@0,321"] == pytest.approx(1 / 6)
    assert found["mass@2,132"] == pytest.approx(0.75)
    assert found["mass@4,231"] == pytest.approx(0.25)
    assert found["final_error"] < 1e-12
    laws = method.further_artifacts()["laws"]
    assert torch.allclose(laws.sum(-1), torch.ones(5, dtype=torch.float64))
    with pytest.raises(UserError, match=r"method\.target"):
        ReachedLaws(n=3, target=[1.0])
