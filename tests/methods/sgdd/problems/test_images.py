"""Measurements of sequences: what each chain is held against."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd import ExactStep, ProductPrior, SplitGibbs, consistent_penalty
from jumpbench.methods.sgdd.pair_likelihood import both, exclusive_or
from jumpbench.methods.sgdd.problems.infill import InfillProblem, box_mask, random_mask
from jumpbench.methods.sgdd.problems.pairs import PairProblem


@pytest.mark.parametrize("operator", [exclusive_or, both])
def test_pairs_are_measured_image_by_image(operator, generator):
    problem = PairProblem(4, 2.0, operator, sigma=1.0)
    x = torch.randint(2, (5, 16), generator=generator)
    batch = {"states": x}
    likelihood = problem.likelihood(batch)
    assert problem.n_chains(batch) == likelihood.n_observations == 5 and problem.length == 16
    i, j = problem.pairs
    other = torch.randint(2, (5, 16), generator=generator)
    expected = -(operator(x[:, i], x[:, j]) != operator(other[:, i], other[:, j])).sum(-1)
    assert torch.equal(likelihood.log_likelihood(other), expected.double())
    assert bool((likelihood.log_likelihood(x) == 0).all())


def test_infilling_keeps_what_is_observed(generator):
    """Hidden positions follow the prior, observed ones the song."""
    mask = random_mask(40, 0.5)
    problem = InfillProblem(mask, 3)
    batch = {"states": torch.randint(3, (200, 40), generator=generator)}
    law = torch.tensor([0.7, 0.2, 0.1])
    sampler = SplitGibbs(200, 0, ExactStep(), penalty=consistent_penalty, prior_first=True)
    samples = sampler(ProductPrior(law, 40), problem.likelihood(batch), generator, 200).samples
    assert torch.equal(samples[:, mask], batch["states"][:, mask])
    hidden = samples[:, ~mask].flatten()
    found = torch.bincount(hidden, minlength=3).double() / len(hidden)
    error = (law.double() * (1 - law.double()) / len(hidden)).sqrt()
    assert bool(((found - law.double()).abs() < 4.5 * error + 0.01).all())


def test_masks():
    """0.4 observed of 256 is 109 with the paper's seed; rows 5..19 and columns 5..24 of 32."""
    assert int(random_mask(256, 0.6).sum()) == 109
    box = box_mask(32, (5, 19), (5, 24)).view(32, 32)
    assert int((~box).sum()) == 15 * 20 and not bool(box[5, 5]) and bool(box[4, 5])
    assert random_mask(10, 0).all() and not random_mask(10, 1).any()
    with pytest.raises(UserError, match=r"\[0, 1\]"):
        random_mask(10, 1.5)
    for rows in ((5, 32), (-1, 3), (6, 5)):
        with pytest.raises(UserError, match="no box in an image of side 32"):
            box_mask(32, rows, (5, 24))
