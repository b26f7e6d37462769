"""FK-MAX against the definition of Singhal et al. (2025), on paths that are enumerated.

G_t = exp(tau max_{s >= t} r_s) after every resampled step, G_0 = exp(tau r(x_0)) / prod_{t>0} G_t;
r_t is 0 or HIGH, of a clean draw from the state at t, so that a path's potentials are a function of
its states and its draws.
"""

import itertools
import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd import FKMax, ProductPrior, Reward, ScorePrior
from jumpbench.methods.sgdd.baselines.common import sampling_times
from jumpbench.methods.sgdd.interface import COUNTED, SEQUENTIAL
from jumpbench.methods.sgdd.prior import CLEAN
from jumpbench.processes.uniform import UniformProcess
from particles import two_particles

LAW = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
PRIOR = ProductPrior(LAW, 2)
HIGH = 1.3


def agree(x):
    return HIGH * (x[..., 0] == x[..., 1]).double()


def generic():
    """The same prior as a function of states, without its closed form."""

    def score(x, t):
        marginal = PRIOR.process.propagate(LAW[None], PRIOR.schedule.total(t))[0]
        return marginal / marginal[x][..., None]

    return ScorePrior(score, UniformProcess(3), 2)


def steps(pair, n_steps):
    """Per step: matrix of the move over nine states, chance of each that a clean draw is HIGH."""
    high = (pair.states[:, 0] == pair.states[:, 1]).double()
    for t, s in itertools.pairwise(sampling_times(n_steps)):
        yield pair.lift(PRIOR.step_matrix(t, s)), pair.lift(PRIOR.clean_matrix([s])) @ high


def last_draw(pair):
    return pair.lift(PRIOR.clean_matrix([CLEAN]))


def path_laws(pair, n_steps, tau, interval):
    """sum over paths of p(path) prod_{t > 0} G_t and of p(path) prod_t G_t, by x_0, (9,) each."""
    measure = {(): torch.full((9,), 1 / 9, dtype=torch.float64)}
    for step, (move, coin) in enumerate(steps(pair, n_steps), start=1):
        measure = {values: mass @ move for values, mass in measure.items()}
        if step % interval == 0 and step < n_steps:
            measure = {
                (*values, value): mass * chance
                for values, mass in measure.items()
                for value, chance in ((HIGH, coin), (0.0, 1 - coin))
            }
    before, whole = torch.zeros(9, dtype=torch.float64), torch.zeros(9, dtype=torch.float64)
    for values, mass in measure.items():
        potentials = [math.exp(tau * max(values[: k + 1])) for k in range(len(values))]
        product = math.prod(potentials)
        before += mass @ last_draw(pair) * product
        last = torch.exp(tau * agree(pair.states)) / product
        whole += mass @ last_draw(pair) * product * last
    return before, whole


@pytest.mark.parametrize("prior", [PRIOR, generic()], ids=["product", "generic"])
@pytest.mark.parametrize(("particles", "interval"), [(1, 1), (3, 1), (3, 2), (4, 9)])
def test_weighted_particles_estimate_the_path_law_without_bias(
    pair, generator, prior, particles, interval
):
    """Z-scores, over 30,000 runs, of the unnormalised laws of x_0 with and without G_0."""
    n_steps, tau, runs = 4, 0.8, 30_000
    sampler = FKMax(particles, n_steps, 0, 1, temperature=tau, interval=interval)
    end = sampler.weighted(sampler.system(prior, Reward(agree)), torch.arange(runs), generator)
    at = torch.nn.functional.one_hot(pair.code(end.particles), 9).double()  # (R, M, 9)
    last = end.log_weights.exp()
    normaliser = end.log_normaliser.exp() / last.mean(-1)  # of the resamplings before the last
    before, whole = path_laws(pair, n_steps, tau, interval)
    for estimate, exact in [
        (normaliser[:, None] * at.mean(1), before),
        (normaliser[:, None] * (at * last[..., None]).mean(1), whole),
        (end.log_normaliser.exp(), whole.sum()),
    ]:
        error = estimate.std(0) / runs**0.5
        assert bool(((estimate.mean(0) - exact).abs() <= 4.5 * error).all())
    assert (before / before.sum() - whole / whole.sum()).abs().max() > 0.02 or interval == 9


def two_particle_law(pair, n_steps, tau, interval):
    """Law of the sample of two particles, each (state, largest value, sum of the maxima)."""
    levels = [(m, n) for m in (0, 1) for n in range(n_steps)]
    codes = {(x, *level): i for i, (x, level) in enumerate(itertools.product(range(9), levels))}
    law = torch.zeros(len(codes), len(codes), dtype=torch.float64)
    starts = [codes[x, 0, 0] for x in range(9)]
    for a, b in itertools.product(starts, starts):
        law[a, b] = 1 / 81
    for step, (plain, coin) in enumerate(steps(pair, n_steps), start=1):
        resampled = step % interval == 0 and step < n_steps
        move, weight = torch.zeros_like(law), torch.ones_like(law)
        for (x, m, n), y in itertools.product(codes, range(9)):
            for value, chance in ((1, coin[y]), (0, 1 - coin[y])) if resampled else ((0, 1.0),):
                largest = max(m, value)
                child = codes.get((y, largest, n + largest * resampled))
                if child is None:
                    continue  # more maxima than steps so far: no path leads there
                move[codes[x, m, n], child] += plain[x, y] * chance
                weight[codes[x, m, n], child] = math.exp(tau * HIGH * largest * resampled)
        law = two_particles(law, move, weight) if resampled else move.T @ law @ move
    move, weight = torch.zeros_like(law), torch.ones_like(law)
    for (x, m, n), y in itertools.product(codes, range(9)):
        child = codes[y, m, n]
        move[codes[x, m, n], child] = last_draw(pair)[x, y]
        weight[codes[x, m, n], child] = torch.exp(tau * (agree(pair.states[y]) - HIGH * n))
    return two_particles(law, move, weight).sum(1).view(9, -1).sum(-1)


@pytest.mark.parametrize("pooled", [False, True])
def test_two_particles(pair, generator, pooled):
    law = two_particle_law(pair, 3, 1.0, 1)
    draws = FKMax(2, 3, 0, 1, pooled=pooled)(PRIOR, Reward(agree), generator, 120_000)
    pair.assert_law(draws.samples[::2] if pooled else draws.samples, law)
    rare = two_particle_law(pair, 3, 1.0, 2)
    assert (law - rare).abs().max() > 0.005, "the test would not see an interval"
    samples = FKMax(2, 3, 0, 1, interval=2)(PRIOR, Reward(agree), generator, 120_000).samples
    pair.assert_law(samples, rare)


def test_many_particles_have_the_tilted_law(pair, generator):
    """Of x_0: p(x_0) exp(tau r(x_0)), p being the law of the prior's own four steps."""
    _, whole = path_laws(pair, 4, 1.0, 1)
    draws = FKMax(300, 4, 0, 1, chunk=500)(PRIOR, Reward(agree), generator, 5_000)
    pair.assert_law(draws.samples, whole / whole.sum())


def test_rewards_below_zero(pair, generator):
    """A constant in the reward changes no weight: maxima are not cut off at 0."""
    law = two_particle_law(pair, 3, 1.0, 1)
    below = Reward(lambda x: agree(x) - 5)
    pair.assert_law(FKMax(2, 3, 0, 1)(PRIOR, below, generator, 60_000).samples, law)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(("n_draws", "interval", "valued"), [(1, 1, 4), (3, 1, 12), (3, 2, 6)])
def test_cost_of_a_sample(generator, pooled, n_draws, interval, valued):
    """5 steps of 4 particles; clean draws of one Euler step after all steps (after every second)
    but the last; then each particle is denoised and valued once."""
    calls = {"score": 0, "reward": 0}

    def score(x, t):
        calls["score"] += len(x)
        return torch.ones(*x.shape, 3)

    def reward(x):
        calls["reward"] += len(x)
        return agree(x)

    sampler = FKMax(4, 5, 1, n_draws, interval=interval, pooled=pooled)
    prior = ScorePrior(score, UniformProcess(3), 2)
    draws = sampler(prior, Reward(reward), generator, 8)
    share = 1 if pooled else 4
    assert draws.cost.network_evaluations * 8 == calls["score"]
    assert draws.cost.energy_evaluations * 8 == calls["reward"] == 8 * share * (valued + 1)
    assert draws.extras[COUNTED].tolist() == [share * (5 + valued + 1)] * 8
    assert draws.extras[SEQUENTIAL].tolist() == [5 + valued // n_draws + 1] * 8


def test_an_interval_below_one_is_refused():
    with pytest.raises(UserError, match="interval=0"):
        FKMax(2, 3, 0, 1, interval=0)
