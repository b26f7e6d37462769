"""Every baseline against the exact law of its own definition, on a space that is enumerated."""

import itertools

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.baselines.common import sampling_times
from jumpbench.methods.sgdd.baselines.dps import DPS, ExactDPS
from jumpbench.methods.sgdd.baselines.guidance import CG
from jumpbench.methods.sgdd.baselines.smc import SMC
from jumpbench.methods.sgdd.baselines.svdd import SVDD
from jumpbench.methods.sgdd.baselines.unconditional import Unconditional
from jumpbench.methods.sgdd.likelihoods import Reward, SiteLikelihood
from jumpbench.methods.sgdd.prior import CLEAN, ScorePrior, clean_grid
from jumpbench.methods.sgdd.product_prior import ProductPrior
from jumpbench.processes.uniform import UniformProcess
from particles import two_particles

LAW = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
PRIOR = ProductPrior(LAW, 2)
HIGH = 1.3
"""The likelihood takes the values 0 and this, so that draws of it are coin tosses."""


def agree(x):
    return HIGH * (x[..., 0] == x[..., 1]).float()


def generic():
    """The same prior without its closed form."""
    return ScorePrior(PRIOR.score, UniformProcess(3), 2)


def moves_and_coins(pair, n_steps, x0_steps):
    """Per step: matrix of the unconditional move, P(clean draw has value HIGH | new state).

    With ``x0_steps`` None the clean state is the most probable one, whose value is certain.
    """
    times = sampling_times(n_steps)
    for t, s in itertools.pairwise(times):
        move = pair.lift(PRIOR.step_matrix(t, s))
        if x0_steps is None:
            yield move, most_probable_agree(pair, s)
        else:
            clean = pair.lift(PRIOR.clean_matrix(clean_grid(s, x0_steps)))
            yield move, clean @ (pair.states[:, 0] == pair.states[:, 1]).double()


def most_probable_agree(pair, t):
    """1 where the most probable clean symbols of both sites are one, else 0: (9,)."""
    best = PRIOR.clean_matrix([t]).argmax(-1)
    return (best[pair.states[:, 0]] == best[pair.states[:, 1]]).double()


def last_draw(pair):
    return pair.lift(PRIOR.clean_matrix([CLEAN]))


def test_sampling_times():
    times = sampling_times(4)
    assert times == pytest.approx([1, 0.75, 0.5, 0.25, 0], abs=2e-5) and times[-1] == CLEAN


@pytest.mark.parametrize(("n_draws", "x0_steps"), [(1, 1), (2, 1), (1, None)])
@pytest.mark.parametrize("prior", [PRIOR, generic()], ids=["product", "generic"])
def test_svdd_keeps_the_best_candidate(pair, generator, n_draws, x0_steps, prior):
    """Three candidates: the winner's law from all outcomes of candidates and their draws."""
    law = torch.full((9,), 1 / 9, dtype=torch.float64)
    for move, coin in moves_and_coins(pair, 2, x0_steps):
        c = coin[:, None]
        scores = torch.cat([1 - c, c], 1)  # state, value
        if n_draws == 2:
            scores = torch.cat([(1 - c) ** 2, 2 * c * (1 - c), c**2], 1)
        joint = move[:, :, None] * scores  # from, to, value
        value_law = joint.sum(1)
        below = value_law.cumsum(-1) - value_law
        # Best of three, ties at random: the mean over ranks of (below, equal) counts.
        share = below**2 + below * value_law + value_law**2 / 3
        law = law @ (3 * joint * share[:, None]).sum(-1)
    sampler = SVDD(candidates=3, n_steps=2, x0_steps=x0_steps, n_draws=n_draws)
    draws = sampler(prior, Reward(agree), generator, 60_000)
    pair.assert_law(draws.samples, law @ last_draw(pair))
    # Two steps of 1 + 3 n_draws (1 + 1) calls, the second ends at CLEAN where one call is enough.
    assert draws.cost.energy_evaluations == 2 * 3 * n_draws
    if prior is not PRIOR and x0_steps is not None:
        assert draws.cost.network_evaluations == 1 + 2 + 3 * n_draws * (2 + 1)


@pytest.mark.parametrize("temperature", [1.0, 0.4])
def test_smc_weights_resamples_and_remembers(pair, generator, temperature):
    """Two particles, two steps: the exact law over pairs of (state, remembered value)."""
    value = torch.tensor([0.0, HIGH], dtype=torch.float64)
    flat_law = torch.zeros(18, 18, dtype=torch.float64)  # particle a, b: 2 * state + coin
    flat_law[::2, ::2] = 1 / 81
    for move, coin in moves_and_coins(pair, 2, x0_steps=0):
        outcome = torch.stack([1 - coin, coin], -1)
        one = (move[:, :, None] * outcome).reshape(9, 18).repeat_interleave(2, 0)
        old = value.repeat(9)
        gain = torch.exp(temperature * (old[None] - old[:, None]))  # parent's value, own value
        flat_law = two_particles(flat_law, one, gain)
    law = flat_law.sum(1).view(9, 2).sum(-1)
    sampler = SMC(particles=2, n_steps=2, x0_steps=0, n_draws=1, temperature=temperature)
    draws = sampler(PRIOR, Reward(agree), generator, 60_000)
    pair.assert_law(draws.samples, law @ last_draw(pair))
    assert draws.cost.energy_evaluations == 4 and draws.cost.network_evaluations == 2 * 2 * 2 + 1


@pytest.mark.parametrize("method", [SVDD, SMC])
def test_without_draws_candidates_have_the_value_of_the_most_probable_state(method, generator):
    """At the first time of ten, 0.9, that is symbol 0 at every site."""
    assert not PRIOR.clean_matrix([sampling_times(10)[1]]).argmax(-1).any()
    valued = []
    likelihood = Reward(lambda x: valued.append(x) or agree(x))
    method(2, 10, None, 1)(generic(), likelihood, generator, 200)
    assert not valued[0].any() and valued[-1].any()


def test_smc_averages_likelihoods_and_not_their_logarithms(pair, generator):
    """One step, two draws: weights are means of 1 and e^HIGH."""
    [(move, coin)] = moves_and_coins(pair, 1, x0_steps=0)
    start = torch.full((9,), 1 / 9, dtype=torch.float64) @ move
    high = torch.exp(torch.tensor(HIGH, dtype=torch.float64))
    outcomes = [1.0, (1 + high) / 2, high]
    odds = torch.stack([(1 - coin) ** 2, 2 * coin * (1 - coin), coin**2], -1)
    joint = start[:, None] * odds
    law = torch.zeros(9, dtype=torch.float64)
    for i, j in itertools.product(range(3), range(3)):
        law += joint[:, i] * joint[:, j].sum() * 2 * outcomes[i] / (outcomes[i] + outcomes[j])
    sampler = SMC(particles=2, n_steps=1, x0_steps=0, n_draws=2)
    samples = sampler(PRIOR, Reward(agree), generator, 100_000).samples
    pair.assert_law(samples, law @ last_draw(pair))


def tilted_step(pair, t, s, x, ratios):
    """Law over states of one tilted Euler step from state number x, ratios (D, N)."""
    prior, sigma_rate = PRIOR, float(PRIOR.schedule.rate(t))
    state = pair.states[x]
    marginal = prior.process.propagate(LAW[None], prior.schedule.total(t))[0]
    rows = []
    for site in range(2):
        here = int(state[site])
        row = (t - s) * sigma_rate / 3 * marginal / marginal[here] * ratios[site]
        row[here] = 0
        row[here] = max(0.0, 1 - float(row.sum()))
        rows.append(row / row.sum())
    return pair.site_law(torch.stack(rows))


def tilted_matrix(pair, t, s, value):
    """The step (9, 9) whose ratios are those of the estimated likelihoods ``value`` (9,)."""
    matrix = torch.zeros(9, 9, dtype=torch.float64)
    for x in range(9):
        ratios = torch.ones(2, 3, dtype=torch.float64)
        for site, token in itertools.product(range(2), range(3)):
            other = pair.states[x].clone()
            other[site] = token
            ratios[site, token] = value[pair.code(other)] / value[x]
        matrix[x] = tilted_step(pair, t, s, x, ratios)
    return matrix


@pytest.mark.parametrize("prior", [PRIOR, generic()], ids=["product", "generic"])
def test_dps_with_a_fresh_draw_per_neighbour(pair, generator, prior):
    """All 2^5 outcomes of the coins of the four neighbours and of the state itself."""
    times, x0_steps = sampling_times(2), 1
    law = torch.full((9,), 1 / 9, dtype=torch.float64)
    for t, s in itertools.pairwise(times):
        clean = pair.lift(PRIOR.clean_matrix(clean_grid(t, x0_steps)))
        coin = clean @ (pair.states[:, 0] == pair.states[:, 1]).double()
        matrix = torch.zeros(9, 9, dtype=torch.float64)
        for x in range(9):
            changes = [(i, v) for i in range(2) for v in range(3) if v != int(pair.states[x, i])]
            targets = []
            for site, token in changes:
                other = pair.states[x].clone()
                other[site] = token
                targets.append(int(pair.code(other)))
            for tosses in itertools.product((0, 1), repeat=5):
                odds = [
                    coin[y] if c else 1 - coin[y]
                    for y, c in zip([x, *targets], tosses, strict=True)
                ]
                ratios = torch.ones(2, 3, dtype=torch.float64)
                for (site, token), c in zip(changes, tosses[1:], strict=True):
                    ratios[site, token] = torch.exp(torch.tensor(HIGH * (c - tosses[0])))
                chance = torch.stack(odds).prod()
                matrix[x] += chance * tilted_step(pair, t, s, x, ratios)
        law = law @ matrix
    draws = DPS(2, x0_steps)(prior, Reward(agree), generator, 60_000)
    pair.assert_law(draws.samples, law @ last_draw(pair))
    assert draws.cost.energy_evaluations == 2 * 5
    assert draws.cost.network_evaluations == 2 * (1 + 5 * 2) + 1


def test_dps_with_the_most_probable_clean_state(pair, generator):
    """Nothing is drawn for a ratio: it is that of the two most probable clean states."""
    law = torch.full((9,), 1 / 9, dtype=torch.float64)
    for t, s in itertools.pairwise(sampling_times(2)):
        best = PRIOR.clean_probabilities(torch.arange(3)[:, None].expand(3, 2), t).argmax(-1)
        guess = best[pair.states, torch.arange(2)]
        value = (HIGH * (guess[:, 0] == guess[:, 1]).double()).exp()
        law = law @ tilted_matrix(pair, t, s, value)
    draws = DPS(2, None)(PRIOR, Reward(agree), generator, 60_000)
    pair.assert_law(draws.samples, law @ last_draw(pair))
    assert draws.cost.network_evaluations == 2 * (1 + 5) + 1


def test_dps_with_the_exact_tilt(pair, generator):
    """Ratios of E[p(y|x_0) | x_t] over all nine clean states."""
    table = torch.tensor([[0.0, 0.8, 1.5], [1.0, 0.0, -0.5]], dtype=torch.float64)
    likelihood = SiteLikelihood(table)
    exact = (table[0, pair.states[:, 0]] + table[1, pair.states[:, 1]]).exp()
    law = torch.full((9,), 1 / 9, dtype=torch.float64)
    for t, s in itertools.pairwise(sampling_times(2)):
        value = pair.lift(PRIOR.clean_matrix([t])) @ exact
        law = law @ tilted_matrix(pair, t, s, value)
    samples = ExactDPS(2)(PRIOR, likelihood, generator, 60_000).samples
    pair.assert_law(samples, law @ last_draw(pair))


def test_dps_survives_hard_likelihoods(generator):
    """Ratios of e^10000 are clamped, not infinite."""
    hard = Reward(lambda x: -1e4 * (x != 2).sum(-1).float())
    samples = DPS(20, 0)(PRIOR, hard, generator, 500).samples
    assert (samples == 2).double().mean() > 0.9


def test_the_exact_tilt_needs_a_likelihood_of_sites(generator):
    with pytest.raises(ValueError, match="factors over sites"):
        ExactDPS(10)(PRIOR, Reward(agree), generator, 3)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: SMC(0, 4, 1, 1), "particles"), (lambda: SMC(2, 0, 1, 1), "n_steps"),
        (lambda: SMC(2, 4, 1, 0), "n_draws"), (lambda: SVDD(0, 4, 1, 1), "candidates"),
        (lambda: DPS(0, 1), "n_steps"), (lambda: ExactDPS(0), "n_steps"),
        (lambda: CG(0), "n_steps"), (lambda: Unconditional(0), "n_steps"),
    ],
)  # fmt: skip
def test_empty_searches_are_refused(make, name):
    with pytest.raises(UserError, match=f"{name} must be at least 1, not 0"):
        make()


@pytest.mark.parametrize("sampler", [SMC(2, 4, -1, 1), SVDD(2, 4, -1, 1), DPS(4, -1)])
def test_fewer_than_no_steps_of_a_clean_draw_are_refused(sampler, generator):
    """They would take a noisy state for a clean one."""
    with pytest.raises(UserError, match="x0_steps=-1: give 0 or more"):
        sampler(generic(), Reward(agree), generator, 3)


def test_a_negative_temperature_is_refused():
    with pytest.raises(UserError, match="temperature=-1: give 0 or more"):
        SMC(2, 4, 1, 1, temperature=-1)
