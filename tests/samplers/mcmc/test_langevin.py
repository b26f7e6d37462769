import itertools
import math

import pytest
import torch

from jumpbench.samplers.mcmc.langevin import DiscreteLangevin, expected_changes, step_size
from jumpbench.targets.tabular import Tabular


def proposal_matrix(target, cost_of):
    """prod_d exp(ratio[d, v] / 2 - cost 1[v != x_d]) / row sum, by loops."""
    size = len(target.states)
    matrix = torch.ones(size, size, dtype=torch.float64)
    ratios = target.neighbor_log_ratios(target.states)
    for i, site in itertools.product(range(size), range(target.length)):
        current = int(target.states[i, site])
        weights = [
            1.0 if v == current else math.exp(ratios[i, site, v] / 2 - cost_of(i))
            for v in range(target.n_states)
        ]
        for j in range(size):
            matrix[i, j] *= weights[int(target.states[j, site])] / sum(weights)
    return matrix


@pytest.mark.parametrize("n_steps", [1, 3])
def test_fixed_step_follows_its_matrix(enumerated, rng, n_steps):
    target = enumerated()
    matrix = target.accept(proposal_matrix(target, lambda i: 1 / (2 * 0.4)))
    target.assert_reversible(matrix)
    target.assert_follows(
        lambda x, n: DiscreteLangevin(step_size(0.4))(target, x, n, rng),
        matrix,
        n_steps,
    )


def test_state_dependent_reluctance_follows_its_matrix(enumerated, rng):
    target = enumerated(length=3, n_states=2)

    def cost(i):
        total = sum(
            math.exp((target.log_table[j] - target.log_table[i]) / 2)
            for j, _, _ in target.neighbours(i)
        )
        return math.log(total) - math.log(1.5)

    matrix = target.accept(proposal_matrix(target, cost))
    target.assert_reversible(matrix)
    target.assert_follows(
        lambda x, n: DiscreteLangevin(expected_changes(1.5))(target, x, n, rng),
        matrix,
        3,
    )


def test_two_symbols_flip_with_the_sigmoid_of_half_the_ratio(rng):
    """Alpha 0.2 on a flat target: flip probability sigmoid(-2.5), within 5 standard errors."""
    x = torch.zeros(20_000, 5, dtype=torch.long)
    flat = Tabular(torch.zeros(5 * (2,)))
    end, info = DiscreteLangevin(step_size(0.2))(flat, x, 1, rng)
    p = 1 / (1 + math.exp(2.5))
    assert (info.acceptance == 1).all()
    assert abs(end.double().mean().item() - p) < 5 * math.sqrt(p * (1 - p) / 100_000)


def test_a_state_whose_neighbours_are_impossible_is_kept(rng):
    """Two bits of which only 00 and 11 are possible."""
    table = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.5]], dtype=torch.float64)
    x = torch.zeros(64, 2, dtype=torch.long)
    moved, info = DiscreteLangevin(expected_changes(1.5))(Tabular(table), x, 3, rng)
    assert torch.equal(moved, x) and info.acceptance.isfinite().all()
