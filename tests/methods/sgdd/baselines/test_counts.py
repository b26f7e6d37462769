"""Network evaluations as our Table 6 counts them, in all and one after the other."""

import pytest
import torch

from jumpbench.methods.sgdd import DPS, SMC, SVDD, MetropolisStep, Reward, ScorePrior, SplitGibbs
from jumpbench.methods.sgdd.interface import COUNTED, SEQUENTIAL
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.cost import Meter, metered

LENGTH = 6
COUNTS = [
    # 5 steps of one reverse step and 4 candidates of one Euler step each
    (SVDD(4, 5, 1, 1), 5 * (1 + 4), 5 * 2),
    # the paper's rule for SMC: particles x steps x 2 (128 x 20 x 2 = 5,120, 256 in sequence)
    (SMC(4, 5, 1, 1), 4 * 5 * 2, 5 * 2),
    # every one-site neighbour of 6 bits and the state itself
    (DPS(5, 0), 5 * (1 + LENGTH + 1), 5 * 2),
    (DPS(5, None), 5 * (1 + LENGTH + 1), 5 * 2),
    # H K, one after the other
    (SplitGibbs(5, 3, MetropolisStep(2)), 15, 15),
]


@pytest.mark.parametrize(("sampler", "total", "sequential"), COUNTS)
def test_counts(sampler, total, sequential, generator):
    meter = Meter()
    score = metered(lambda x, t: torch.ones(*x.shape, 2), meter, "network")
    prior = ScorePrior(score, UniformProcess(2), LENGTH)
    draws = sampler(prior, Reward(lambda x: x.sum(-1).double()), generator, 3)
    assert draws.extras[COUNTED].tolist() == [total] * 3
    assert draws.extras[SEQUENTIAL].tolist() == [sequential] * 3
    assert meter.network == 3 * draws.cost.network_evaluations  # what the network really saw


def test_candidates_of_one_parent_are_independent_draws_of_its_move():
    """From one score a parent the same draws as from one a candidate."""

    def score(x, t):
        return 0.5 + (x[..., None] == torch.arange(3)).float() + torch.arange(3) / 4

    prior = ScorePrior(score, UniformProcess(3), LENGTH)
    x = torch.randint(3, (5, LENGTH), generator=torch.Generator().manual_seed(1))
    (move,) = prior.reverse_steps([0.8, 0.7])
    apart = move(x[:, None].expand(-1, 4, -1), torch.Generator().manual_seed(0))
    assert torch.equal(move.several(x, 4, torch.Generator().manual_seed(0)), apart)
