"""XOR and AND: changes equal the full recount, and the chains are the same draw for draw."""

import pytest
import torch

from jumpbench.methods.sgdd import InverseProblem, MetropolisStep, PairLikelihood, mismatches
from jumpbench.methods.sgdd.pair_likelihood import random_pairs

OPERATORS = {"xor": torch.bitwise_xor, "and": torch.bitwise_and}


def problem(operator, shared, n_chains, generator, length=12, share=3.0):
    """With repeated pairs and pairs of a site with itself, and sites in no pair."""
    pairs = random_pairs(length - 2, share)
    pairs = torch.cat([pairs, torch.tensor([[3, 5], [3, 5]]), pairs[:, :2]], 1)
    truth = torch.randint(2, (1 if shared else n_chains, length), generator=generator)
    observed = operator(truth[:, pairs[0]], truth[:, pairs[1]])
    return pairs, observed[0] if shared else observed


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_the_same_chain_as_with_a_full_recount(operator, shared, dtype, generator):
    n_chains = 40
    pairs, observed = problem(operator, shared, n_chains, generator)
    local = PairLikelihood(pairs, observed, operator, 0.7, 12)
    full = InverseProblem(
        lambda x: operator(x[:, pairs[0]], x[:, pairs[1]]), observed, mismatches, 0.7
    )
    x = torch.randint(2, (n_chains, 12), generator=generator).to(dtype)
    torch.testing.assert_close(local.log_likelihood(x), full.log_likelihood(x))
    step = MetropolisStep(300)
    for penalty in (0.0, 0.8):
        chains = []
        for likelihood in (local, full):
            same = torch.Generator().manual_seed(5)
            z, info = step(x, x, penalty, likelihood, 2, same)
            chains.append((z, info.acceptance))
        assert torch.equal(chains[0][0], chains[1][0])
        assert torch.equal(chains[0][1], chains[1][1])
        assert 0.05 < float(chains[0][1].mean()) < 0.99
        assert not torch.equal(chains[0][0], x)


def test_changes_after_any_sequence_of_moves(generator):
    pairs, observed = problem(torch.bitwise_and, False, 30, generator)
    likelihood = PairLikelihood(pairs, observed, torch.bitwise_and, 0.5, 12)
    x = torch.randint(2, (30, 12), generator=generator)
    delta, commit = likelihood.changes(x)
    assert commit is None
    for _ in range(20):
        site = torch.randint(12, (30,), generator=generator)
        token = torch.randint(2, (30,), generator=generator)
        after = x.scatter(1, site[:, None], token[:, None])
        expected = likelihood.log_likelihood(after) - likelihood.log_likelihood(x)
        torch.testing.assert_close(delta(x, site, token).double(), expected)
        x = torch.where(torch.rand(30, 1, generator=generator) < 0.5, after, x)


def test_pairs_of_the_paper():
    """Two self pairs among 4096 at gamma = 4, none among 512 at gamma = 0.5 (D = 1024)."""
    for share, number, selves in ((0.5, 512, 0), (4.0, 4096, 2)):
        pairs = random_pairs(1024, share)
        torch.manual_seed(0)
        assert torch.equal(pairs, torch.randint(1024, (2, number)))
        assert int((pairs[0] == pairs[1]).sum()) == selves


def test_bad_pairs_are_refused():
    pairs = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="symmetric"):
        PairLikelihood(pairs, torch.zeros(2), lambda a, b: a - b, 1.0, 3)
    with pytest.raises(ValueError, match=r"\(2, p\)"):
        PairLikelihood(pairs, torch.zeros(3), torch.bitwise_and, 1.0, 3)
    with pytest.raises(ValueError, match="sigma"):
        PairLikelihood(pairs, torch.zeros(2), torch.bitwise_and, 0.0, 3)
