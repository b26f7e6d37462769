"""What K iterations of the ideal algorithm leave: both conditionals exact, all states enumerated.

Eight random priors over four sites of three symbols; the XOR of two pairs of sites, 10,000 nats a
mismatch, as in the paper's tables of images. README quotes the means.
"""

import pytest
import torch

from jumpbench.methods.sgdd.pair_likelihood import PairLikelihood, exclusive_or
from jumpbench.methods.sgdd.schedule import consistent_penalty, paper_times, printed_penalty
from jumpbench.processes.schedules import Geometric
from oracles import all_states

N, D, PROBLEMS = 3, 4, 8
STATES = all_states(N, D)
MISMATCHES = (STATES[:, None] != STATES).sum(-1).double()


def problems():
    """Log-priors and log-likelihoods, (8, 81) each."""
    priors, likelihoods = [], []
    for seed in range(PROBLEMS):
        generator = torch.Generator().manual_seed(seed)
        priors.append(torch.randn(len(STATES), generator=generator, dtype=torch.float64))
        truth = STATES[torch.randint(len(STATES), (1,), generator=generator)]
        pairs = torch.tensor([[0, 2], [1, 3]])
        observed = exclusive_or(truth[0, pairs[0]], truth[0, pairs[1]])
        likelihood = PairLikelihood(pairs, observed, exclusive_or, 1e-4, D)
        likelihoods.append(likelihood.log_likelihood(STATES))
    return torch.stack(priors).log_softmax(-1), torch.stack(likelihoods)


def final_law(prior, likelihood, n_iterations, penalty):
    """Law (8, 81) of x after K iterations from a uniform x; penalty of the likelihood step."""
    law = torch.full(prior.shape, 1 / len(STATES), dtype=torch.float64)
    for t in paper_times(n_iterations):
        eta = float(Geometric().total(t))
        tied = (likelihood[:, None] - penalty(eta, N) * MISMATCHES).softmax(-1)  # x -> z
        kernel = -consistent_penalty(eta, N) * MISMATCHES
        clean = (prior[:, None] + kernel).softmax(-1)  # z -> x
        law = torch.einsum("ps,psz,pzx->px", law, tied, clean)
    return law


def left(n_iterations, penalty):
    """Total variation from the posterior, (8,)."""
    prior, likelihood = problems()
    posterior = (prior + likelihood).softmax(-1)
    return (final_law(prior, likelihood, n_iterations, penalty) - posterior).abs().sum(-1) / 2


@pytest.mark.parametrize(
    ("penalty", "means"),
    [
        (consistent_penalty, {10: 0.203, 25: 0.154, 100: 0.085, 1000: 0.018}),
        (printed_penalty, {10: 0.201, 25: 0.153, 100: 0.086, 1000: 0.021}),
    ],
)
def test_the_error_of_annealing_falls_slowly_with_the_iterations(penalty, means):
    """The published tables of images have K = 25 to 100."""
    errors = {n: left(n, penalty) for n in means}
    assert {n: round(float(error.mean()), 3) for n, error in errors.items()} == means
    for fewer, more in ((10, 100), (100, 1000)):
        assert bool((errors[more] < errors[fewer]).all())
    assert errors[100].max() > 0.15  # of the worst of eight problems
