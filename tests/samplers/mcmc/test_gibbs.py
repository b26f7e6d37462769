import pytest
import torch

from jumpbench.samplers.mcmc.gibbs import (
    blocked_gibbs,
    checkerboard,
    random_scan_gibbs,
    sweep_gibbs,
)


def site_matrix(target, site):
    """Redraw one site from its conditional law."""
    size = len(target.states)
    matrix = torch.zeros(size, size, dtype=torch.float64)
    for i in range(size):
        reach = [i, *(j for j, d, _ in target.neighbours(i) if d == site)]
        matrix[i, reach] = target.law[reach] / target.law[reach].sum()
    return matrix


def test_random_scan_follows_its_matrix(enumerated, rng):
    target = enumerated()
    matrix = (site_matrix(target, 0) + site_matrix(target, 1)) / 2
    target.assert_reversible(matrix)
    target.assert_follows(lambda x, n: random_scan_gibbs(target.conditional, x, n, rng), matrix, 3)


@pytest.mark.parametrize("blocked", [False, True])
def test_systematic_scan_follows_its_matrix(enumerated, rng, blocked):
    target = enumerated()
    matrix = site_matrix(target, 0) @ site_matrix(target, 1)
    singles = torch.eye(2, dtype=torch.bool)

    def kernel(x, n):
        if blocked:
            return blocked_gibbs(target.log_ratios, x, singles, n, rng)
        return sweep_gibbs(target.conditional, x, n, rng)

    target.assert_follows(kernel, matrix, 2)


def test_chequerboard_blocks_of_a_chain_of_spins(enumerated, rng):
    """Ends of a chain of three are independent given its middle."""
    states = enumerated(length=3, n_states=2).states
    spins = 2.0 * states.double() - 1
    energy = 0.7 * (spins[:, 0] * spins[:, 1] + spins[:, 1] * spins[:, 2]) + 0.3 * spins[:, 0]
    target = enumerated(length=3, n_states=2, log_table=energy)
    ends = site_matrix(target, 0) @ site_matrix(target, 2)
    blocks = checkerboard(1, 3)
    assert blocks.tolist() == [[True, False, True], [False, True, False]]
    target.assert_follows(
        lambda x, n: blocked_gibbs(target.log_ratios, x, blocks, n, rng),
        ends @ site_matrix(target, 1),
        2,
    )


def test_changes_are_counted_and_the_start_is_kept(enumerated, rng):
    target = enumerated()
    start = target.states.clone()
    end, info = random_scan_gibbs(target.conditional, start, 1, rng)
    assert torch.equal(info.changed, (end != start).sum(-1))
    assert torch.equal(start, target.states)
