"""What each family can reach at best: minimal divergences, and floors of the training loss.

Scores are free parameters, minimised by L-BFGS. Infima over unbounded scores are approached from
above, so each bound is two-sided: not below the infimum, and close to it.
"""

import math
from functools import cache
from itertools import pairwise

import pytest
import torch

from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseRiffle,
    PlackettLuce,
)
from jumpbench.processes.permutations import all_permutations, compose, inverse, lexicographic_rank
from jumpbench.processes.shuffles import Riffle
from jumpbench.seeding import make_generator

FAMILIES = {"PL": (PlackettLuce, 1), "GPL": (GeneralisedPlackettLuce, 2), "IRS": (InverseRiffle, 1)}


def least_cross_entropy(family, targets, n, restarts=1, steps=150):
    """min over the scores of -sum_sigma target(sigma) log p(sigma), per row of ``targets``."""
    make, axes = FAMILIES[family]
    generator = make_generator(0, "floors")
    shape = (restarts, len(targets), *(n,) * axes)
    scores = torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
    group = all_permutations(n)

    def cross_entropy():
        log_p = make(scores).log_prob(group[:, None, None]).movedim(0, -1)
        return -torch.where(targets > 0, targets * log_p.clamp(min=-1e3), 0.0).sum(-1)

    optimiser = torch.optim.LBFGS([scores], max_iter=steps, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = cross_entropy().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    return cross_entropy().detach().amin(0)


@pytest.mark.parametrize(
    ("family", "n", "infimum"),
    [("PL", 3, 1.070), ("GPL", 3, 0.0), ("PL", 4, 2.406), ("GPL", 4, math.log(2))],
)
def test_least_divergence_from_half_identity_half_reversal(family, n, infimum):
    target = torch.zeros(1, math.factorial(n), dtype=torch.float64)
    target[0, 0] = target[0, -1] = 0.5
    divergence = float(least_cross_entropy(family, target, n)) - math.log(2)
    assert infimum - 6e-4 < divergence < infimum + 5e-3


@cache
def posteriors(n, schedule):
    """For every step of a schedule, later first: law of the later state, and the law of sigma'.

    Delta data: X_0 is the identity, so perm_t has the law of t riffles.
    """
    group = all_permutations(n)
    deck = Riffle(n)
    steps = []
    for earlier, later in reversed(list(pairwise(schedule))):
        state = deck.log_prob(group, steps=later).exp()
        # sigma' takes state a to b = a[sigma']; the forward step from b to a is its inverse.
        before = compose(group[:, None], group[None])
        prior = deck.log_prob(group, steps=earlier).exp()[lexicographic_rank(before)]
        joint = prior * deck.log_prob(inverse(group), steps=later - earlier).exp()
        alive = state > 0
        assert torch.allclose(joint.sum(-1), state, atol=1e-14)
        steps.append((state[alive], joint[alive] / state[alive, None]))
    return steps


def exact_floor(n, schedule):
    """Summed entropy of the posterior: the loss of a model that knows it."""
    total = 0.0
    for weights, laws in posteriors(n, schedule):
        total += float((weights * torch.special.entr(laws).sum(-1)).sum())
    return total


EXACT = {
    (3, (0, 1, 2, 3)): 2.3906,
    (3, (0, 2, 7)): 1.6956,
    (4, (0, 1, 2, 3, 4)): 5.9135,
    (4, (0, 2, 7)): 2.9648,
    (5, (0, 2, 8)): 4.3936,
}


@pytest.mark.parametrize(("n", "schedule"), EXACT)
def test_entropy_of_the_exact_posterior(n, schedule):
    assert exact_floor(n, schedule) == pytest.approx(EXACT[n, schedule], abs=5.1e-5)


@pytest.mark.parametrize(
    ("n", "schedule", "family", "floor"),
    [
        (3, (0, 1, 2, 3), "IRS", 2.5017),
        (3, (0, 1, 2, 3), "GPL", 2.6475),
        (3, (0, 1, 2, 3), "PL", 2.7831),
        (3, (0, 2, 7), "GPL", 1.7263),
        (3, (0, 2, 7), "PL", 1.7291),
        (4, (0, 1, 2, 3, 4), "IRS", 6.3659),
        (4, (0, 1, 2, 3, 4), "GPL", 7.3372),
        (4, (0, 1, 2, 3, 4), "PL", 7.8292),
        (4, (0, 2, 7), "GPL", 3.0703),
        (4, (0, 2, 7), "PL", 3.0771),
    ],
)
def test_floor_of_the_training_loss(n, schedule, family, floor):
    # Only the inverse riffle is not a convex problem.
    restarts = 6 if family == "IRS" else 1
    total = 0.0
    for weights, laws in posteriors(n, schedule):
        if (laws.amax(-1) > 1 - 1e-12).all():
            continue  # the last step is a point mass, which every family attains in the limit
        total += float((weights * least_cross_entropy(family, laws, n, restarts)).sum())
    assert floor - 1e-4 < total < floor + 2e-3
    assert total > exact_floor(n, schedule)


@pytest.mark.parametrize(
    ("n", "schedule", "bound"),
    [
        (3, (0, 1, 2, 3), -0.023500),
        (3, (0, 2, 7), -0.000092),
        (4, (0, 1, 2, 3, 4), -0.013027),
        (4, (0, 2, 7), -0.000203),
    ],
)
def test_evidence_bound_of_the_exact_reverse_chain(n, schedule, bound):
    """E[log u(X_T) + sum log posterior - sum log q] = -KL(q^(T) || uniform)."""
    group, deck = all_permutations(n), Riffle(n)
    forward = 0.0
    for earlier, later in pairwise(schedule):
        law = deck.log_prob(group, steps=later - earlier).exp()
        forward += float(torch.special.entr(law).sum())
    elbo = -math.log(math.factorial(n)) - exact_floor(n, schedule) + forward
    assert elbo == pytest.approx(bound, abs=6e-7)
    last = deck.log_prob(group, steps=schedule[-1]).exp()
    divergence = float((torch.special.xlogy(last, last * math.factorial(n))).sum())
    assert elbo == pytest.approx(-divergence, abs=1e-12)
