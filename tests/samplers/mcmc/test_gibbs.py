import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.samplers.mcmc.gibbs import (
    BlockedGibbs,
    RandomScanGibbs,
    SystematicGibbs,
    checkerboard,
)
from jumpbench.targets.changes import Conditionals
from jumpbench.targets.tempered import Tempered


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
    target.assert_follows(lambda x, n: RandomScanGibbs()(target, x, n, rng), matrix, 3)


@pytest.mark.parametrize("blocked", [False, True])
def test_systematic_scan_follows_its_matrix(enumerated, rng, blocked):
    target = enumerated()
    matrix = site_matrix(target, 0) @ site_matrix(target, 1)
    singles = torch.eye(2, dtype=torch.bool)

    def kernel(x, n):
        if blocked:
            return BlockedGibbs(singles)(target, x, n, rng)
        return SystematicGibbs()(target, x, n, rng)

    target.assert_follows(kernel, matrix, 2)


def test_chequerboard_blocks_of_a_chain_of_spins(enumerated, rng):
    """Ends of a chain of three are independent given its middle."""
    states = enumerated(length=3, n_states=2).states
    spins = 2.0 * states.double() - 1
    energy = 0.7 * (spins[:, 0] * spins[:, 1] + spins[:, 1] * spins[:, 2]) + 0.3 * spins[:, 0]
    target = enumerated(length=3, n_states=2, log_table=energy)
    ends = site_matrix(target, 0) @ site_matrix(target, 2)
    blocks = torch.tensor([[True, False, True], [False, True, False]])
    target.assert_follows(
        lambda x, n: BlockedGibbs(blocks)(target, x, n, rng),
        ends @ site_matrix(target, 1),
        2,
    )


def test_the_two_colours_of_a_torus_and_none_of_an_odd_one():
    assert checkerboard(2, 4).int().tolist() == [[1, 0, 1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0, 1, 0]]
    for sides in ((3, 4), (4, 5), (1, 4)):
        with pytest.raises(UserError, match=r"neighbours across the seam share a colour: use even"):
            checkerboard(*sides)


def test_a_target_may_know_its_conditional_laws(enumerated, rng):
    """``site_log_ratios`` of the target's own is asked instead of N - 1 times ``log_prob``."""
    target = enumerated()
    x, site = target.states, torch.arange(9) % 2
    generic = Conditionals(target, x)
    ratios = generic(x, site)
    torch.testing.assert_close(ratios, target.neighbor_log_ratios(x)[torch.arange(9), site])
    symbol = torch.arange(9) % 3
    generic.commit(ratios, symbol)
    after = x.scatter(1, site[:, None], symbol[:, None])
    torch.testing.assert_close(generic.current, target.log_prob(after), rtol=0, atol=1e-6)
    target.site_log_ratios = lambda x, site: torch.tensor([-99.0, 0, -99]).expand(9, 3)
    assert (SystematicGibbs()(target, x, 1, rng)[0] == 1).all()
    colder = Conditionals(Tempered(target, 0.5), x)(x, site)
    assert torch.equal(colder[0], torch.tensor([-49.5, 0, -49.5]))
