"""Each chain with its own measurement, impossible states, and what user code is called with."""

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.sgdd import (
    DPS,
    SMC,
    SVDD,
    ExactStep,
    InverseProblem,
    MetropolisStep,
    ProductPrior,
    Reward,
    ScorePrior,
    SiteLikelihood,
    SplitGibbs,
    mismatches,
    squared,
)
from jumpbench.methods.sgdd.problems.grid import NormReading
from jumpbench.methods.sgdd.problems.infill import InfillProblem
from jumpbench.processes.uniform import UniformProcess

LAW = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
SAMPLERS = {
    "smc": SMC(particles=5, n_steps=8, x0_steps=0, n_draws=2),
    "svdd": SVDD(candidates=5, n_steps=8, x0_steps=0, n_draws=2),
    "dps": DPS(n_steps=8, x0_steps=0),
    "split gibbs": SplitGibbs(6, 3, MetropolisStep(12)),
}
PAIR_TABLE = torch.tensor([[0.0, 2.0, -3.0], [1.0, -2.0, 3.0]])


def generic():
    return ScorePrior(ProductPrior(LAW, 3).score, UniformProcess(3), 3)


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("kind", ["operator", "table"])
def test_each_chain_follows_its_own_measurement(sampler, kind, generator):
    """Even and odd chains see another y. Each half has the law of a run with that y alone."""
    wanted = torch.tensor([[0, 1, 2], [2, 2, 0]])

    def likelihood(observed):
        if kind == "table":
            return SiteLikelihood.infill(observed, torch.tensor([True, True, False]), 3, 0.3)
        return InverseProblem(lambda x: x[:, :2], observed[..., :2], mismatches, 0.3)

    n = 2000
    sampler.chunk = 500
    mixed = sampler(generic(), likelihood(wanted.repeat(n // 2, 1)), generator, n).samples
    for half in range(2):
        alone = sampler(generic(), likelihood(wanted[half]), generator, n // 2).samples
        for site in range(3):
            a, b = (
                torch.bincount(x[:, site], minlength=3).double() / (n // 2)
                for x in (mixed[half::2], alone)
            )
            error = ((a + b) / 2 * (1 - (a + b) / 2) * 2 / (n // 2)).sqrt().clamp(min=1e-3)
            assert bool(((a - b).abs() < 4.5 * error).all())
    sampler.chunk = None


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_other_numbers_of_chains_than_measurements_are_refused(sampler, generator):
    observed = torch.zeros(5, 2)
    likelihood = InverseProblem(lambda x: x[:, :2], observed, squared, 1.0)
    for n_chains in (4, 6, 10):
        with pytest.raises(ValueError, match="as many chains as measurements"):
            sampler(generic(), likelihood, generator, n_chains)


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_as_many_chains_as_candidates(sampler, generator):
    """Five side by side, with five candidates or particles each: nothing is mixed up."""
    wanted = torch.tensor([[0, 1], [2, 2], [1, 0], [2, 1], [0, 0]]).repeat(16, 1)
    likelihood = InverseProblem(lambda x: x[:, :2], wanted, mismatches, 0.2)
    sampler.chunk = 5
    samples = sampler(generic(), likelihood, generator, 80).samples
    sampler.chunk = None
    own = (samples[:, :2] == wanted).double().mean()
    other = (samples[:, :2] == wanted.roll(1, 0)).double().mean()
    assert own > other + 0.2  # 160 sites: a standard error of 0.04


def test_candidates_meet_the_measurement_of_their_chain():
    """(B, M, D) with B = M: row b against measurement b, never candidate m against it."""
    observed = torch.tensor([[0.0], [1.0]])
    likelihood = InverseProblem(lambda x: x[:, :1].float(), observed, squared, 1.0)
    x = torch.tensor([[[0, 0], [1, 0]], [[0, 0], [1, 0]]])
    expected = torch.tensor([[0.0, -1.0], [-1.0, 0.0]], dtype=torch.float64)
    assert torch.equal(likelihood.log_likelihood(x), expected)
    swapped = likelihood.log_likelihood(x, torch.tensor([1, 0]))
    assert torch.equal(swapped, expected.flip(0))
    with pytest.raises(ValueError, match="chain numbers"):
        likelihood.log_likelihood(x, torch.tensor([0]))


def hard(bottom):
    """Two of three sites must be 2; otherwise ``bottom``."""
    return Reward(lambda x: torch.where((x == 2).sum(-1) >= 2, x.sum(-1).float(), bottom))


def table(bottom):
    return SiteLikelihood(torch.tensor([[bottom, 0.0, 0.5]] * 3))


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("likelihood", [hard, table], ids=["reward", "table"])
def test_minus_infinity_is_impossible_and_nothing_more(sampler, likelihood):
    """The same share of feasible samples as with -1e4, instead of a collapse."""
    shares = []
    for bottom in (-1e4, -torch.inf):
        generator = torch.Generator().manual_seed(3)
        samples = sampler(ProductPrior(LAW, 3), likelihood(bottom), generator, 1000).samples
        values = likelihood(-1.0).log_likelihood(samples)
        feasible = values == likelihood(-2.0).log_likelihood(samples)
        shares.append(float(feasible.double().mean()))
    assert shares[0] > 0.3
    error = (shares[0] * (1 - shares[0]) * 2 / 1000) ** 0.5
    assert abs(shares[0] - shares[1]) < max(4.5 * error, 1e-3)


def test_the_exact_step_takes_impossible_entries(generator):
    x = torch.zeros(2000, 3, dtype=torch.long)
    z, _ = ExactStep()(x, x, 1.0, table(-torch.inf), 3, generator)
    assert bool((z > 0).all())


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_a_reward_that_is_no_number_is_refused(sampler, bad, generator):
    reward = Reward(lambda x: torch.where(x.sum(-1) > 2, bad, 0.0))
    with pytest.raises(ValueError, match=r"NaN or \+inf"):
        sampler(generic(), reward, generator, 20)
    with pytest.raises(ValueError, match="NaN"):
        SiteLikelihood(torch.full((3, 3), bad))


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("prior", [generic, lambda: ProductPrior(LAW, 3)], ids=["score", "product"])
def test_user_code_sees_batches_of_long(sampler, prior, generator):
    """(B, D), ``long``, without gradient, whatever candidates or neighbours are compared."""

    def reward(x):
        assert x.ndim == 2 and x.shape[1] == 3 and x.dtype == torch.long
        assert not torch.is_grad_enabled()
        return torch.nn.functional.one_hot(x, 3).float().flatten(1).sum(-1)

    def operator(x):
        return reward(x)[:, None]

    for likelihood in (Reward(reward), InverseProblem(operator, torch.zeros(1), squared, 9.0)):
        samples = sampler(prior(), likelihood, generator, 7).samples
        assert samples.shape == (7, 3) and samples.dtype == torch.long


def test_a_reward_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="one number a state"):
        Reward(lambda x: x.float()).log_likelihood(torch.zeros(4, 3))
    problem = InverseProblem(lambda x: x, torch.zeros(2), squared, 1.0)
    with pytest.raises(ValueError, match="operator predicts"):
        problem.log_likelihood(torch.zeros(4, 3))


def test_misfits_keep_their_digits_at_small_noise():
    """At 4e7 nats float32 steps by 4; a difference of 0.25 must survive."""
    observed = torch.zeros(2000)
    far = InverseProblem(lambda x: x.float() + 2, observed, squared, 1e-4)
    x = torch.zeros(2, 2000, dtype=torch.long)
    x[1, 0] = 1
    values = InverseProblem(lambda x: 2 + x.float() / 1e6, observed, squared, 1e-4)
    assert float(far.log_likelihood(x)[0]) == -2000 * 4 / 1e-4
    difference = float(values.log_likelihood(x).diff())
    assert difference == pytest.approx(-4 * 1e-6 / 1e-4, rel=0.5)


@pytest.mark.parametrize("sigma", [0, -1e-4, float("nan")])
@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda sigma: InfillProblem(torch.tensor([True, False]), 3, sigma), UserError),
        (lambda sigma: NormReading(2, sigma=sigma), UserError),
        (
            lambda sigma: SiteLikelihood.infill(torch.tensor([1]), torch.tensor([True]), 3, sigma),
            ValueError,
        ),
    ],
)
def test_a_noise_scale_that_is_not_positive_is_refused(make, error, sigma):
    """A negative one would reward what contradicts the measurement."""
    with pytest.raises(error, match="a likelihood needs sigma > 0"):
        make(sigma)
