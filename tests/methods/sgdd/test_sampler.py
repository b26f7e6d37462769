"""Split Gibbs against the exact law of its own annealed chain, and against the posterior."""

import math
from functools import partial

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd.likelihood_step import ExactStep, MetropolisStep, TiedDelta
from jumpbench.methods.sgdd.likelihoods import Reward, SiteLikelihood
from jumpbench.methods.sgdd.prior import ScorePrior, clean_grid
from jumpbench.methods.sgdd.product_prior import ProductPrior
from jumpbench.methods.sgdd.sampler import SplitGibbs
from jumpbench.methods.sgdd.schedule import (
    consistent_penalty,
    paper_times,
    printed_penalty,
)
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.mcmc.metropolis import MultiSiteMetropolis

LAW = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
TABLE = torch.tensor([[0.0, 0.8, 1.5], [1.0, 0.0, -0.5]], dtype=torch.float64)


def coupled(x):
    """A likelihood that does not factor over two sites."""
    return 1.2 * (x[..., 0] == x[..., 1]).float() + 0.7 * x[..., 1].float()


def metropolis_matrix(space, log_likelihood, anchor, penalty):
    """One proposal step on all states at fixed x, from the definition; row = from."""
    log_pi = log_likelihood(space.states).double()
    log_pi = log_pi - penalty * (space.states != space.states[anchor]).sum(-1)
    matrix = torch.zeros(space.size, space.size, dtype=torch.float64)
    for z, state in enumerate(space.states):
        for site in range(space.length):
            for token in range(space.n_states):
                other = state.clone()
                other[site] = token
                to = int(space.code(other))
                share = min(1.0, math.exp(log_pi[to] - log_pi[z]))
                proposal = 1 / (space.length * space.n_states)
                matrix[z, to] += proposal * share
                matrix[z, z] += proposal * (1 - share)
    return matrix, (log_pi - log_pi.logsumexp(0)).exp()


def test_metropolis_is_reversible_and_its_delta_is_the_one_of_the_definition(pair):
    """Spec 12, item 5: the kernel that the sampler's ``delta`` defines."""
    delta, _ = Reward(coupled).changes(pair.states)
    for anchor in (0, 5):
        matrix, law = metropolis_matrix(pair, coupled, anchor, 0.9)
        flow = law[:, None] * matrix
        torch.testing.assert_close(flow, flow.T, atol=1e-14, rtol=0)
        together = TiedDelta(delta, pair.states[anchor].expand(9, 2).contiguous(), 0.9)
        for site in range(2):
            for token in range(3):
                sites, tokens = torch.full((9,), site), torch.full((9,), token)
                change = together(pair.states, sites, tokens)
                to = pair.states.clone()
                to[:, site] = token
                expected = (law[pair.code(to)] / law).log()
                torch.testing.assert_close(change, expected, atol=1e-5, rtol=0)
                assert bool((change[pair.states[:, site] == token] == 0).all())


@pytest.mark.parametrize("penalty", [0.9, -1.5])
def test_likelihood_steps_draw_the_conditional(pair, generator, penalty):
    """Exact step, and Metropolis with many proposals from either start."""
    likelihood = SiteLikelihood(TABLE)
    x = torch.tensor([1, 2]).expand(100_000, 2).contiguous()
    start = torch.zeros_like(x)
    mismatch = (pair.states != x[0]).sum(-1)
    log_law = TABLE[0, pair.states[:, 0]] + TABLE[1, pair.states[:, 1]] - penalty * mismatch
    law = log_law.softmax(0)
    z, info = ExactStep()(x, start, penalty, likelihood, 3, generator)
    pair.assert_law(z, law)
    assert info.acceptance is None
    for from_previous in (False, True):
        step = MetropolisStep(60, from_previous)
        z, info = step(x, start, penalty, likelihood, 3, generator)
        pair.assert_law(z, law)
        assert 0 < info.acceptance.mean() < 1 and info.evaluations == 61


def test_any_kernel_makes_the_proposals(pair, generator):
    """Two sites at once, told only log_prob, draw the same conditional."""
    x = torch.tensor([1, 2]).expand(60_000, 2).contiguous()
    mismatch = (pair.states != x[0]).sum(-1)
    law = (coupled(pair.states).double() - 0.9 * mismatch).softmax(0)
    step = MetropolisStep(40, kernel=MultiSiteMetropolis(2))
    z, _ = step(x, x, 0.9, Reward(coupled), 3, generator)
    pair.assert_law(z, law)


def test_infill_exact_and_metropolis_agree_and_obey_hard_observations(generator):
    """Spec 12, item 9."""
    observed, mask = torch.tensor([2, 0, 1, 1]), torch.tensor([True, False, True, True])
    x = torch.randint(3, (20_000, 4), generator=generator)
    soft = SiteLikelihood.infill(observed, mask, 3, sigma=0.7)
    draws = [step(x, x, 0.5, soft, 3, generator)[0] for step in (ExactStep(), MetropolisStep(150))]
    for site in range(4):
        counts = [torch.bincount(z[:, site], minlength=3).double() / len(x) for z in draws]
        error = (counts[0] * (1 - counts[0]) * 2 / len(x)).sqrt()
        assert bool(((counts[0] - counts[1]).abs() < 4.5 * error).all())
    hard = SiteLikelihood.infill(observed, mask, 3, sigma=1e-4)
    sampler = SplitGibbs(10, 0, MetropolisStep(150), penalty=consistent_penalty, prior_first=True)
    samples = sampler(ProductPrior(LAW, 4), hard, generator, 2000).samples
    assert bool((samples[:, mask] == observed[mask]).all())
    assert samples[:, 1].unique().tolist() == [0, 1, 2]


def annealed_law(pair, prior, sampler, log_likelihood, n_proposals, from_previous):
    """Law of what the sampler returns: the joint law of (x, z), half-step by half-step."""
    joint = torch.full((9, 9), 1 / 9, dtype=torch.float64)
    joint = torch.diag(joint.diagonal())  # x = z, uniform
    for t in sampler.times(sampler.n_iterations):
        penalty = sampler.penalty(float(prior.schedule.total(t)), 3)
        denoise = pair.lift(prior.clean_matrix(clean_grid(t, sampler.prior_steps)))
        moves = []
        for anchor in range(9):
            one, _ = metropolis_matrix(pair, log_likelihood, anchor, penalty)
            moves.append(torch.linalg.matrix_power(one, n_proposals))
        moves = torch.stack(moves)  # x, from, to

        def likelihood_step(joint, moves=moves):
            if from_previous:
                return torch.einsum("xz,xzw->xw", joint, moves)
            return joint.sum(1)[:, None] * moves.diagonal(dim1=0, dim2=1).T

        def prior_step(joint, denoise=denoise):
            return (joint.sum(0)[:, None] * denoise).T

        steps = (likelihood_step, prior_step)
        for step in reversed(steps) if sampler.prior_first else steps:
            joint = step(joint)
    return joint.sum(0) if sampler.return_z else joint.sum(1)


@pytest.mark.parametrize("penalty", [printed_penalty, consistent_penalty])
@pytest.mark.parametrize("prior_first", [False, True])
@pytest.mark.parametrize("from_previous", [False, True])
@pytest.mark.parametrize("return_z", [False, True])
def test_the_annealed_law_is_exactly_that_of_the_algorithm(
    pair, generator, penalty, prior_first, from_previous, return_z
):
    prior = ProductPrior(LAW, 2)
    sampler = SplitGibbs(
        3, 2, MetropolisStep(2, from_previous), paper_times, penalty, prior_first, return_z
    )
    law = annealed_law(pair, prior, sampler, coupled, 2, from_previous)
    draws = sampler(prior, Reward(coupled), generator, 40_000)
    pair.assert_law(draws.samples, law)
    assert draws.cost.network_evaluations == 3 * (2 + 1) and draws.cost.energy_evaluations == 3 * 3


def test_what_is_returned_by_default_was_updated_last():
    assert SplitGibbs(1, 1, ExactStep(), prior_first=True).return_z
    assert not SplitGibbs(1, 1, ExactStep()).return_z


def test_a_generic_score_prior_gives_the_same_annealed_law(pair, generator):
    product = ProductPrior(LAW, 2)
    sampler = SplitGibbs(3, 2, MetropolisStep(2))
    law = annealed_law(pair, product, sampler, coupled, 2, False)
    generic = ScorePrior(product.score, UniformProcess(3), 2)
    samples = sampler(generic, Reward(coupled), generator, 40_000).samples
    pair.assert_law(samples, law)


def test_slow_annealing_reaches_the_posterior_with_the_consistent_penalty_only(pair):
    """No sampling: exact half-steps, prior first, the law of the last z."""
    prior, log_likelihood = ProductPrior(LAW, 2), coupled(pair.states).double()
    posterior = (LAW.log()[pair.states].sum(-1) + log_likelihood).softmax(0)
    distance = (pair.states[:, None] != pair.states[None]).sum(-1).double()
    errors = {consistent_penalty: [], printed_penalty: []}
    for penalty, found in errors.items():
        for n_iterations in (5, 40, 320):
            law = torch.full((9,), 1 / 9, dtype=torch.float64)
            for t in paper_times(n_iterations):
                tie = penalty(float(prior.schedule.total(t)), 3)
                to_z = (log_likelihood - tie * distance).softmax(-1)
                law = law @ pair.lift(prior.clean_matrix([t])) @ to_z
            found.append(float((law - posterior).abs().sum() / 2))
    assert errors[consistent_penalty] == sorted(errors[consistent_penalty], reverse=True)
    assert errors[consistent_penalty][-1] < 0.01
    assert errors[printed_penalty][-1] > 0.03


def test_a_flat_prior_gives_the_likelihood_alone(pair, generator):
    """Spec 12, item 8."""
    sampler = SplitGibbs(40, 0, ExactStep(), penalty=consistent_penalty, prior_first=True)
    prior = ProductPrior(torch.ones(3), 2)
    samples = sampler(prior, SiteLikelihood(TABLE), generator, 40_000).samples
    law = (TABLE[0, pair.states[:, 0]] + TABLE[1, pair.states[:, 1]]).softmax(0)
    pair.assert_law(samples, law)


def stationary(matrix):
    """The law with law @ matrix = law, by solving for it (small eta mixes slowly)."""
    size = len(matrix)
    system = torch.cat([matrix.T - torch.eye(size), torch.ones(1, size)]).double()
    right = torch.zeros(size + 1, dtype=torch.float64)
    right[-1] = 1
    return torch.linalg.lstsq(system, right[:, None], driver="gelsd").solution[:, 0]


def split_gibbs_laws(space, log_prior, log_likelihood, eta, penalty):
    """Stationary law of x under exact half-steps; x-marginal of the joint; the posterior."""
    distance = (space.states[:, None] != space.states[None]).sum(-1).double()
    tie = torch.exp(-penalty(eta, space.n_states) * distance)
    to_z = (tie * log_likelihood.exp()).double()
    to_z = to_z / to_z.sum(-1, keepdim=True)  # row x
    kernel = space.lift(UniformProcess(space.n_states).kernel(eta))
    to_x = kernel * log_prior.exp()  # p(x_0 | x_t = z), row z
    to_x = to_x / to_x.sum(-1, keepdim=True)
    joint = (log_prior[:, None] + log_likelihood).exp() * kernel
    posterior = (log_prior + log_likelihood).softmax(0)
    return stationary(to_z @ to_x), joint.sum(1) / joint.sum(), posterior


def random_problem(space, seed):
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, space.size, generator=generator, dtype=torch.float64)
    return draw().log_softmax(0), draw()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("eta", [2.0, 0.5, 0.05])
def test_only_the_consistent_penalty_leaves_the_joint_law_invariant(pair, space, seed, eta):
    """Spec 12, item 6: the two conditionals belong to one joint law, or do not."""
    log_prior, log_likelihood = random_problem(pair, seed)
    law, target, _ = split_gibbs_laws(pair, log_prior, log_likelihood, eta, consistent_penalty)
    assert (law - target).abs().sum() / 2 < 1e-12
    law, target, _ = split_gibbs_laws(pair, log_prior, log_likelihood, eta, printed_penalty)
    assert (law - target).abs().sum() / 2 > 1e-3
    bits = space(2, 3)
    log_prior, log_likelihood = random_problem(bits, seed)
    law, target, _ = split_gibbs_laws(bits, log_prior, log_likelihood, eta, printed_penalty)
    assert (law - target).abs().sum() / 2 < 1e-12


def test_the_joint_law_tends_to_the_posterior_and_the_printed_chain_does_not(pair):
    log_prior, log_likelihood = random_problem(pair, 0)
    distances = {consistent_penalty: [], printed_penalty: []}
    for eta in (2.0, 0.5, 0.05, 0.005):
        for penalty, found in distances.items():
            law, _, posterior = split_gibbs_laws(pair, log_prior, log_likelihood, eta, penalty)
            found.append(float((law - posterior).abs().sum() / 2))
    consistent = distances[consistent_penalty]
    assert consistent == sorted(consistent, reverse=True) and consistent[-1] < 0.005
    assert distances[printed_penalty][-1] > 0.02


def test_the_path_holds_every_iteration(generator):
    """x before z; the last x is what is returned; the draws are those without a path."""
    prior = ProductPrior([0.5, 0.3, 0.2], 4)
    likelihood = Reward(lambda x: (x == 0).sum(-1).double())
    settings = {"n_iterations": 6, "prior_steps": 3, "likelihood_step": MetropolisStep(8)}
    with_path, without = (
        SplitGibbs(**settings, keep_path=keep)(
            prior, likelihood, torch.Generator().manual_seed(1), 10
        )
        for keep in (True, False)
    )
    path = with_path.extras["path"]
    assert path.shape == (10, 6, 2, 4) and path.dtype == torch.uint8
    assert torch.equal(path[:, -1, 0].long(), with_path.samples)
    assert torch.equal(with_path.samples, without.samples) and "path" not in without.extras
    assert bool((path[:, 1:] != path[:, :-1]).any())


def test_empty_loops_are_refused():
    step = MetropolisStep(4)
    for settings in ((0, 1), (-1, 1), (3, -1)):
        with pytest.raises(UserError, match=f"not {settings[0]} and {settings[1]}"):
            SplitGibbs(*settings, step)
    with pytest.raises(UserError, match="n_proposals must be at least 1, not 0"):
        MetropolisStep(0)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 2)])
@pytest.mark.parametrize("step", [ExactStep(), MetropolisStep(3)])
def test_a_table_of_another_size_than_the_prior_is_refused(step, shape, generator):
    """One with more symbols would draw symbols that the prior does not have."""
    sampler = SplitGibbs(2, 2, step, penalty=consistent_penalty)
    with pytest.raises(ValueError, match=rf"table is for \({shape[0]}, {shape[1]}\) sites and"):
        sampler(ProductPrior(LAW, 2), SiteLikelihood(torch.zeros(shape)), generator, 4)
