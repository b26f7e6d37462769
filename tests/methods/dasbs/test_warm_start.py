"""What a corrector is worth that another run has trained: exact half bridges of an Ising model.

A stage that has the corrector phihat_1 ends in the law sum_x0 mu(x0) / phi_0(x0) K(x0, x1)
phi_1(x1) with phi_1 = nu / phihat_1 and phi_0 = K phi_1, which is nu only for the right corrector.
"""

import pytest
import torch

from jumpbench.metrics.histogram import total_variation
from jumpbench.targets.ising import Ising
from oracles import all_states

STATES = all_states(2, 9)
DISTANCE = (STATES[:, None] != STATES).sum(-1).double()
UNIFORM = torch.full((512,), 1 / 512, dtype=torch.float64)
CONSTANT = torch.zeros(512, dtype=torch.float64)
CONSTANT[[0, -1]] = 0.5
HOT, CRITICAL, LOW = 0.28, 0.4407, 0.6


def target(beta):
    return Ising(3, beta).log_prob(STATES).double().softmax(0)


def kernel(gamma, alpha=0.5):
    """Of the modified log-linear schedule over [0, 1]."""
    kept = (alpha / (1 + alpha)) ** gamma
    return ((1 - kept) / 2) ** DISTANCE * ((1 + kept) / 2) ** (9 - DISTANCE)


def corrector(source, nu, move):
    """phihat_1 of the bridge between them."""
    phihat = torch.ones(512, dtype=torch.float64)
    for _ in range(200):
        phihat = move.T @ (source / (move @ (nu / phihat)))
    return phihat


def left(nu, move, phihat):
    """Total variation of the law at the end of a stage from the constant source."""
    phi = nu / phihat
    end = ((CONSTANT / (move @ phi)) @ move) * phi
    return float(total_variation(end, nu))


@pytest.mark.parametrize(
    ("source", "hot", "gammas", "beta", "one", "loaded"),
    [
        (UNIFORM, HOT, (1.0, 1.0), CRITICAL, 0.178, 0.185),
        (UNIFORM, HOT, (1.0, 0.25), LOW, 0.080, 0.080),
        (CONSTANT, CRITICAL, (1.0, 0.25), LOW, 0.080, 0.069),
        (CONSTANT, CRITICAL, (1.0, 1.0), LOW, 0.050, 0.0),
    ],
)
def test_a_loaded_corrector_is_right_after_the_same_source_and_schedule(
    source, hot, gammas, beta, one, loaded
):
    """From another source or schedule it is hardly better than the constant 1."""
    before, move = kernel(gammas[0]), kernel(gammas[1])
    nu = target(beta)
    found = corrector(source, target(hot), before)
    assert left(nu, move, torch.ones_like(nu)) == pytest.approx(one, abs=5e-4)
    assert left(nu, move, found) == pytest.approx(loaded, abs=5e-4)
