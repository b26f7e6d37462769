"""CG and TDS against the exact laws of their own definitions, on enumerated spaces."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from jumpbench.errors import UserError
from jumpbench.methods.sgdd import (
    CG,
    SMC,
    TDS,
    DenoiserPrior,
    ProductPrior,
    Reward,
    ScorePrior,
    SiteLikelihood,
)
from jumpbench.methods.sgdd.baselines.common import sampling_times
from jumpbench.methods.sgdd.baselines.guidance import predicted_gradient
from jumpbench.methods.sgdd.baselines.unconditional import Unconditional
from jumpbench.methods.sgdd.prior import CLEAN, analytic
from jumpbench.processes.masked import MaskedProcess
from jumpbench.processes.schedules import LogLinear
from jumpbench.processes.uniform import UniformProcess
from particles import two_particles

LAW = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
PRIOR = ProductPrior(LAW, 2)
HIGH = 1.3


def agree(x):
    """HIGH where both sites have one symbol; of weights, its mean over independent sites."""
    if x.is_floating_point():
        return HIGH * (x[:, 0] * x[:, 1]).sum(-1)
    return HIGH * (x[..., 0] == x[..., 1]).float()


def generic():
    """The same prior as a function of states or weights, without its closed form."""

    def score(x, t):
        marginal = PRIOR.process.propagate(LAW[None], PRIOR.schedule.total(t))[0]
        if x.is_floating_point():
            return marginal / (x.double() @ marginal)[..., None]
        return marginal / marginal[x][..., None]

    return ScorePrior(score, UniformProcess(3), 2)


def steps(pair, n_steps, scale):
    """Per step: the plain and the guided matrix over nine states, and the coin of a clean draw."""
    for t, s in itertools.pairwise(sampling_times(n_steps)):
        move, clean = PRIOR.step_matrix(t, s), PRIOR.clean_matrix([t])
        rows = []
        for a, b in pair.states.tolist():
            # Of HIGH sum_v P(v | x_0) P(v | x_1), by the one-hot row of each site.
            gradient = HIGH * torch.stack([clean @ clean[b], clean @ clean[a]])
            law = torch.stack([move[a], move[b]])
            own = gradient[torch.arange(2), torch.tensor([a, b])]
            law = law * torch.exp(scale * (gradient - own[:, None]))
            rows.append(pair.site_law(law / law.sum(-1, keepdim=True)))
        coin = (
            pair.lift(PRIOR.clean_matrix([s])) @ (pair.states[:, 0] == pair.states[:, 1]).double()
        )
        yield pair.lift(move), torch.stack(rows), coin


def last_draw(pair):
    return pair.lift(PRIOR.clean_matrix([CLEAN]))


@pytest.mark.parametrize("prior", [PRIOR, generic()], ids=["product", "generic"])
def test_classifier_guidance(pair, generator, prior):
    law = torch.full((9,), 1 / 9, dtype=torch.float64)
    for _, guided, _ in steps(pair, 3, scale=1.7):
        law = law @ guided
    draws = CG(3, scale=1.7)(prior, Reward(agree), generator, 60_000)
    pair.assert_law(draws.samples, law @ last_draw(pair))
    assert draws.cost.network_evaluations == 7 and draws.cost.energy_evaluations == 3


@pytest.mark.parametrize("prior", [PRIOR, generic()], ids=["product", "generic"])
def test_the_prior_alone(pair, generator, prior):
    law = torch.full((9,), 1 / 9, dtype=torch.float64)
    for plain, _, _ in steps(pair, 3, scale=0.0):
        law = law @ plain
    draws = Unconditional(3)(prior, None, generator, 60_000)
    pair.assert_law(draws.samples, law @ last_draw(pair))
    assert draws.cost.network_evaluations == 4 and draws.cost.energy_evaluations == 0


def particles_law(pair, n_steps, scale, twisted):
    """Two particles of (state, value): SMC's recursion with the weights of each method."""
    values = torch.tensor([0.0, HIGH], dtype=torch.float64)
    law = torch.zeros(18, 18, dtype=torch.float64)
    law[::2, ::2] = 1 / 81
    for k, (plain, guided, coin) in enumerate(steps(pair, n_steps, scale)):
        move = torch.zeros(18, 18, dtype=torch.float64)
        weight = torch.ones(18, 18, dtype=torch.float64)
        proposal = guided if twisted else plain
        for x, m, y, c in itertools.product(range(9), (0, 1), range(9), (0, 1)):
            if proposal[x, y] == 0:
                continue
            odds = coin[y] if c else 1 - coin[y]
            move[2 * x + m, 2 * y + c] += proposal[x, y] * odds
            gain = values[c] - (values[m] if k else 0.0)
            weight[2 * x + m, 2 * y + c] = gain.exp() * plain[x, y] / proposal[x, y]
        law = two_particles(law, move, weight)
    return law.sum(1).view(9, 2).sum(-1) @ last_draw(pair)


@pytest.mark.parametrize("prior", [PRIOR, generic()], ids=["product", "generic"])
def test_twisted_smc(pair, generator, prior):
    law = particles_law(pair, 2, 1.7, twisted=True)
    sampler = TDS(particles=2, n_steps=2, x0_steps=0, n_draws=1, scale=1.7)
    draws = sampler(prior, Reward(agree), generator, 60_000)
    pair.assert_law(draws.samples, law)
    plain = particles_law(pair, 2, 1.7, twisted=False)
    assert (law - plain).abs().max() > 0.02, "the test would not see a missing tilt"
    # Two particles, two steps: score, gradient and clean draw of each, and the last draw.
    assert draws.cost.network_evaluations == 2 * 2 * 3 + 1
    assert draws.cost.energy_evaluations == 2 * 2 * 2


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_twisted_smc_finds_the_posterior(pair, generator, scale):
    """Particles take the tilt back, whatever its scale; guidance alone is off by it."""
    prior, n = ProductPrior(LAW, 2, reverse_step=analytic), 3000
    exact = LAW[pair.states].prod(-1) * agree(pair.states).double().exp()

    def distance(samples):
        return float((pair.frequencies(samples) - exact / exact.sum()).abs().sum() / 2)

    sampler = TDS(16, 12, 0, 8, scale=scale)
    # 0.016 of it is sampling noise, the rest 16 particles.
    assert distance(sampler(prior, Reward(agree), generator, n).samples) < 0.05
    guided = distance(CG(12, scale)(prior, Reward(agree), generator, n).samples)
    assert (guided > 0.1) == (scale == 2.0)


def masked_clean(x, t):
    known = x if x.is_floating_point() else F.one_hot(x, 4).double()
    masked = known[..., 3:]
    law = torch.cat([LAW, torch.zeros(1)]).to(known.dtype)
    return known * (1 - masked) * torch.tensor([1, 1, 1, 0]) + masked * law


def masked_prior():
    return DenoiserPrior(masked_clean, MaskedProcess(3), 2, schedule=LogLinear())


def test_guidance_of_a_masked_prior(space, generator):
    """Sixteen states; masked sites are tilted relative to the mask, others stay."""
    prior, pair, scale = masked_prior(), space(4, 2), 2.0
    law = torch.zeros(16, dtype=torch.float64)
    law[15] = 1.0
    clean = torch.eye(4, dtype=torch.float64)
    clean[3] = torch.cat([LAW, torch.zeros(1)])
    for t, s in itertools.pairwise(sampling_times(3)):
        rows = []
        for x in pair.states:
            gradient = HIGH * torch.stack([clean @ clean[x[1]], clean @ clean[x[0]]])
            step = prior.step_probabilities(x[None], t, s)[0].double()
            own = gradient[torch.arange(2), x]
            step = step * torch.exp(scale * (gradient - own[:, None]))
            rows.append(pair.site_law(step / step.sum(-1, keepdim=True)))
        law = law @ torch.stack(rows)
    end = torch.stack([pair.site_law(clean[x]) for x in pair.states])
    samples = CG(3, scale)(prior, Reward(agree), generator, 60_000).samples
    pair.assert_law(samples, law @ end)
    assert int(samples.max()) < 3


def test_gradients_are_finite_where_sites_are_known(generator):
    x = torch.tensor([[0, 3], [2, 1], [3, 3]])
    gradient = predicted_gradient(masked_prior(), Reward(agree), x, 0.5)
    assert bool(gradient.isfinite().all()) and gradient.shape == (3, 2, 4)
    with torch.inference_mode():  # as in a test stage
        assert torch.equal(predicted_gradient(masked_prior(), Reward(agree), x, 0.5), gradient)


@pytest.mark.parametrize("method", [SMC, TDS])
def test_pooled_particles_are_all_returned(method, pair, generator):
    """Each run's particles have the law of one of them, at a share of the cost."""
    law = particles_law(pair, 2, 1.0, twisted=method is TDS)
    sampler = method(2, 2, 0, 1, pooled=True)
    draws = sampler(PRIOR, Reward(agree), generator, 120_000)
    pair.assert_law(draws.samples[::2], law)
    alone = method(2, 2, 0, 1)(PRIOR, Reward(agree), generator, 10).cost
    pooled = draws.cost.network_evaluations
    assert pooled - 1 == (alone.network_evaluations - 1) / 2
    with pytest.raises(UserError, match="runs of 2 particles"):
        sampler(PRIOR, Reward(agree), generator, 7)


def test_what_has_no_gradient_is_refused(generator):
    table = SiteLikelihood(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="SiteLikelihood has no gradient"):
        CG(2)(PRIOR, table, generator, 3)
