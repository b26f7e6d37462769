import pytest
import torch

from jumpbench.samplers.mcmc.locally_balanced import LocallyBalanced, barker, square_root
from jumpbench.targets.tabular import Tabular

WEIGHTS = {square_root: lambda r: r**0.5, barker: lambda r: r / (1 + r)}


def proposal_matrix(target, weight):
    size = len(target.states)
    matrix = torch.zeros(size, size, dtype=torch.float64)
    for i in range(size):
        for j, _, _ in target.neighbours(i):
            matrix[i, j] = weight(target.law[j] / target.law[i])
    return matrix / matrix.sum(-1, keepdim=True)


@pytest.mark.parametrize("log_balance", WEIGHTS, ids=["square_root", "barker"])
@pytest.mark.parametrize("n_steps", [1, 3])
def test_follows_its_matrix(enumerated, rng, log_balance, n_steps):
    target = enumerated()
    matrix = target.accept(proposal_matrix(target, WEIGHTS[log_balance]))
    target.assert_reversible(matrix)
    target.assert_follows(
        lambda x, n: LocallyBalanced(log_balance)(target, x, n, rng), matrix, n_steps
    )


def test_approximate_ratios_are_corrected_by_the_exact_log_prob(enumerated, rng):
    """Proposals made for another law still leave the target invariant."""
    target, other = enumerated(seed=0), enumerated(seed=1)
    matrix = target.accept(proposal_matrix(other, WEIGHTS[square_root]))
    target.assert_reversible(matrix)
    target.assert_follows(
        lambda x, n: LocallyBalanced(log_ratios=other.neighbor_log_ratios)(target, x, n, rng),
        matrix,
        2,
    )


def test_entries_at_the_current_symbols_are_not_read(enumerated):
    target = enumerated()

    def spoiled(x):
        return target.neighbor_log_ratios(x).scatter(-1, x[..., None], torch.nan)

    ends = [
        LocallyBalanced(log_ratios=f)(target, target.states, 9, torch.Generator().manual_seed(3))[0]
        for f in (target.neighbor_log_ratios, spoiled)
    ]
    assert torch.equal(*ends)


def test_a_state_without_possible_neighbours_stays():
    """Only the states (0, 0) and (1, 1) are possible, and they are not neighbours."""
    table = torch.full((2, 2), -torch.inf)
    table[0, 0] = table[1, 1] = 0.0
    x = torch.tensor([[0, 0], [1, 1]])
    end, info = LocallyBalanced()(Tabular(table), x, 9, torch.Generator().manual_seed(0))
    assert torch.equal(end, x)
    assert (info.acceptance == 0).all()
