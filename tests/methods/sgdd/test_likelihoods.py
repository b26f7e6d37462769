"""Likelihood objects against their formulas; one-site changes against re-evaluation."""

import pytest
import torch

from jumpbench.methods.sgdd.likelihoods import (
    InverseProblem,
    Reward,
    SiteLikelihood,
    euclidean,
    mismatches,
    squared,
)

X = torch.tensor([[0, 1, 2], [2, 2, 1]])


def sums(x):
    return torch.stack([x[..., 0] + x[..., 1], x[..., 1] - x[..., 2]], -1)


@pytest.mark.parametrize(
    ("misfit", "expected"),
    [(mismatches, [1, 1]), (squared, [4, 9]), (euclidean, [2, 3])],
)
def test_inverse_problem(misfit, expected):
    """G(x) - y is (0, -2) and (3, 0); sigma = 1/2."""
    observed = torch.tensor([1, 1])
    expected = -torch.tensor(expected, dtype=torch.float64) / 0.5
    likelihood = InverseProblem(sums, observed, misfit, 0.5)
    torch.testing.assert_close(likelihood.log_likelihood(X), expected)
    assert likelihood.site_log_likelihood() is None


def test_reward():
    likelihood = Reward(lambda x: (x == 2).sum(-1).float(), beta=3.0)
    assert likelihood.log_likelihood(X).tolist() == [3.0, 6.0]


def test_site_likelihood_looks_up_its_table(generator):
    table = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    likelihood = SiteLikelihood(table)
    x = torch.randint(4, (7, 5, 3), generator=generator, dtype=torch.int32)
    expected = sum(table[i, x[..., i].long()] for i in range(3))
    torch.testing.assert_close(likelihood.log_likelihood(x).double(), expected, atol=1e-6, rtol=0)
    assert torch.equal(likelihood.site_log_likelihood(), table)


def test_infill_counts_observed_mismatches_only():
    likelihood = SiteLikelihood.infill(
        torch.tensor([0, 1, 2]), torch.tensor([True, False, True]), n_states=3, sigma=0.01
    )
    torch.testing.assert_close(likelihood.log_likelihood(X), torch.tensor([0.0, -200.0]).double())


@pytest.mark.parametrize("kind", ["generic", "sites"])
def test_changes_equal_re_evaluation_along_a_chain(kind, generator):
    table = torch.randn(3, 4, generator=generator)
    full = SiteLikelihood(table)
    likelihood = Reward(full.log_likelihood) if kind == "generic" else full
    x = torch.randint(4, (50, 3), generator=generator)
    delta, commit = likelihood.changes(x)
    for _ in range(5):
        site = torch.randint(3, (50,), generator=generator)
        token = torch.randint(4, (50,), generator=generator)
        accept = torch.rand(50, generator=generator) < 0.5
        proposal = x.scatter(1, site[:, None], token[:, None])
        expected = full.log_likelihood(proposal) - full.log_likelihood(x)
        torch.testing.assert_close(delta(x, site, token).double(), expected, atol=1e-5, rtol=0)
        if commit is not None:
            commit(accept, site, token)
        x = torch.where(accept[:, None], proposal, x)


def test_generic_changes_cost_one_evaluation_each(generator):
    calls = []
    likelihood = Reward(lambda x: calls.append(len(x)) or x.sum(-1).float())
    delta, commit = likelihood.changes(X)
    for _ in range(3):
        delta(X, torch.zeros(2, dtype=torch.long), torch.ones(2, dtype=torch.long))
        commit(torch.zeros(2, dtype=torch.bool), None, None)
    assert calls == [2] * 4


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="sigma"):
        InverseProblem(sums, torch.zeros(2), squared, 0.0)
    with pytest.raises(ValueError, match="\\(D, N\\)"):
        SiteLikelihood(torch.zeros(3))
