"""Priors given by a network: precision, gradients, batches, kernels, and numbers that are none."""

import pytest
import torch
from torch import nn

from jumpbench.methods.sgdd import (
    DPS,
    SMC,
    SVDD,
    DenoiserPrior,
    MetropolisStep,
    ProductPrior,
    Reward,
    ScorePrior,
    SplitGibbs,
)
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear
from jumpbench.processes.uniform import UniformProcess

LAW = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
EXACT = ProductPrior(LAW, 2)
GIBBS = SplitGibbs(4, 2, MetropolisStep(5))
NOTHING = Reward(lambda x: torch.zeros(len(x)))


def score_in(dtype):
    return ScorePrior(lambda x, t: EXACT.score(x, t).to(dtype), UniformProcess(4), 2)


def test_scores_of_half_precision_are_computed_with_in_single(space, generator):
    """8-bit uniforms would move the law (.4, .3, .2, .1) by up to 0.03."""
    for dtype in (torch.bfloat16, torch.float16):
        assert score_in(dtype).score(torch.zeros(3, 2), 0.3).dtype == torch.float32
    assert score_in(torch.float64).score(torch.zeros(3, 2), 0.3).dtype == torch.float64
    [move] = score_in(torch.bfloat16).denoisers([0.75], 0)
    states = space(4, 2)
    start = torch.tensor([0, 3]).expand(100_000, 2)
    # The score itself is rounded to 8 bits, once: 2^-9 of each entry.
    law = states.site_law(score_in(torch.bfloat16).clean_probabilities(start[:1], 0.75))[0]
    states.assert_law(move(start, generator), law)
    exact = states.site_law(EXACT.clean_probabilities(start[:1], 0.75))[0]
    assert (law - exact).abs().max() < 0.005


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -0.3])
def test_a_network_that_returns_no_number_is_an_error(bad, generator):
    def broken(x, t):
        return torch.full((*x.shape, 4), bad if t < 0.5 else 1.0)

    prior = ScorePrior(broken, UniformProcess(4), 2)
    for sampler in (GIBBS, SMC(2, 4, 1, 1), SVDD(2, 4, 1, 1), DPS(4, 1)):
        with pytest.raises(ValueError, match=r"score at t = .* NaN, infinite or negative"):
            sampler(prior, NOTHING, generator, 5)


def test_a_score_of_another_shape_is_refused(generator):
    prior = ScorePrior(lambda x, t: torch.ones(len(x), 4), UniformProcess(4), 2)
    with pytest.raises(ValueError, match="has shape"):
        GIBBS(prior, NOTHING, generator, 5)


def test_no_graph_is_kept_unless_asked():
    network = nn.Linear(2, 8)

    def score(x, t):
        return network(x.float()).view(len(x), 2, 4).exp()

    x = torch.zeros(3, 2, dtype=torch.long)
    assert not ScorePrior(score, UniformProcess(4), 2).score(x, 0.5).requires_grad
    assert ScorePrior(score, UniformProcess(4), 2, gradient=True).score(x, 0.5).requires_grad


def test_a_network_is_part_of_the_prior():
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x, t):
            return self.weight.expand(*x.shape, 4)

    prior = ScorePrior(Network(), UniformProcess(4), 2)
    assert list(prior.state_dict()) == ["score_function.weight"]
    assert prior.double().score(torch.zeros(1, 2), 0.1).dtype == torch.float64


def test_large_batches_are_split_for_the_network():
    sizes = []

    def score(x, t):
        assert x.dtype == torch.long
        sizes.append(len(x))
        return EXACT.score(x, t)

    prior = ScorePrior(score, UniformProcess(4), 2, max_batch=10)
    x = torch.randint(4, (3, 9, 2), dtype=torch.int32)
    torch.testing.assert_close(prior.score(x, 0.4), EXACT.score(x, 0.4))
    assert sizes == [10, 10, 7]


def masked_law(x, t):
    """Law of the clean symbols under a masked process: known where unmasked, LAW where masked."""
    known = nn.functional.one_hot(x, 5).double()
    return torch.where((x == 4)[..., None], torch.cat([LAW, torch.zeros(1)]), known)


def masked_prior():
    return DenoiserPrior(masked_law, MaskedProcess(4), 2, schedule=LogLinear())


@pytest.mark.parametrize("sampler", [SMC(3, 32, 0, 1), SVDD(1, 32, 0, 1), DPS(32, 0)])
def test_a_masked_prior_serves_the_baselines(sampler, space, generator):
    """Without a reward the prior comes out; no mask is ever returned."""
    samples = sampler(masked_prior(), NOTHING, generator, 3000).samples
    states = space(4, 2)
    law = LAW[states.states].prod(-1)
    gap = (states.frequencies(samples) - law).abs().max()
    assert int(samples.max()) < 4 and gap < 0.035  # 4.5 standard errors of 0.0067, Euler steps


def test_masked_smc_finds_the_posterior(space, generator):
    """One clean draw a particle: weights are noisy but their mean is right for large M."""
    states = space(4, 2)

    def reward(x):
        return 1.5 * (x[:, 0] == x[:, 1]).float()

    law = (LAW[states.states].prod(-1) * reward(states.states).double().exp()).clone()
    samples = SMC(20, 16, 0, 4)(masked_prior(), Reward(reward), generator, 1500).samples
    assert (states.frequencies(samples) - law / law.sum()).abs().sum() / 2 < 0.08


def test_split_gibbs_refuses_a_masked_prior(generator):
    with pytest.raises(ValueError, match="uniform kernel, not for a MaskedProcess"):
        GIBBS(masked_prior(), NOTHING, generator, 3)


def test_a_denoiser_and_a_score_are_the_same_prior():
    """Uniform kernel: the score from the clean law is the ratio of noisy marginals."""
    prior = DenoiserPrior(lambda x, t: EXACT.clean_probabilities(x, t), UniformProcess(4), 2)
    x = torch.tensor([[0, 3], [2, 1]])
    for t in (0.2, 0.6, 0.8):
        torch.testing.assert_close(prior.score(x, t), EXACT.score(x, t), rtol=1e-6, atol=1e-9)
