"""Laws, reverse rates and bridges of counts against matrix exponentials and Bayes' rule."""

import math

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.processes.birth_death import Ehrenfest, ImmigrationDeath
from jumpbench.processes.counts import log_binomial
from jumpbench.processes.death import PureDeath
from jumpbench.processes.finite import FiniteProcess, birth_death_generator, reverse_kernel
from oracles import generator

M = 8
STATES = torch.arange(M + 1)
P0 = torch.tensor([0.05, 0, 0.2, 0.1, 0, 0.05, 0.3, 0, 0.3], dtype=torch.float64)
DEATH = PureDeath(M)
# 60 is far above what immigration at rate 2 from at most 8 units reaches.
WIDE = torch.arange(61)


def finite(process, states=STATES):
    rates = process.birth_rate(states), process.death_rate(states)
    return FiniteProcess(birth_death_generator(*rates))


def table(process, t, states=STATES, starts=STATES):
    """p(x, t | start), (start, x)."""
    return process.log_marginal(states, t, starts.unsqueeze(-1)).exp()


def random_generator(n=5, seed=0):
    rates = torch.rand(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    rates.fill_diagonal_(0)
    return FiniteProcess(rates - torch.diag(rates.sum(1)))


@pytest.mark.parametrize("t", [1e-6, 0.05, 0.7, 3.0])
def test_pure_death_is_a_binomial(t):
    assert torch.allclose(table(DEATH, t), finite(DEATH).transition(t), rtol=0, atol=1e-14)


@pytest.mark.parametrize("t", [0.05, 0.7, 3.0])
def test_closed_forms_of_birth_death_processes(t):
    ehrenfest, queue = Ehrenfest(M, 0.3), ImmigrationDeath(2.0)
    assert torch.allclose(table(ehrenfest, t), finite(ehrenfest).transition(t), atol=1e-13)
    exact = finite(queue, WIDE).transition(t)[: M + 1]
    assert torch.allclose(table(queue, t, WIDE), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("process", [DEATH, Ehrenfest(M, 0.3), ImmigrationDeath(2.0)])
@pytest.mark.parametrize("t", [0.02, 0.7, 3.0])
def test_reverse_rates_given_the_start(process, t):
    """Against the reversed generator of the finite chain, started at every o."""
    states = WIDE if process.maximum is None else STATES
    chain = finite(process, states)
    reverse = chain.reverse_generator(chain.transition(t)[: M + 1])
    births, deaths = process.reverse_rates(states, t, STATES.unsqueeze(-1))
    reached = chain.transition(t)[: M + 1] > 1e-9
    inner = reached[:, :-1] & (states[:-1] < 30)
    up = reverse.diagonal(1, -2, -1)
    down = reverse.diagonal(-1, -2, -1)
    assert torch.allclose(births[:, :-1][inner], up[inner], rtol=1e-8, atol=1e-10)
    outer = reached[:, 1:] & (states[1:] < 30)
    assert torch.allclose(deaths[:, 1:][outer], down[outer], rtol=1e-8, atol=1e-10)


def test_generic_reverse_rates_equal_pure_deaths_closed_form():
    start, x = torch.meshgrid(STATES, STATES, indexing="ij")
    for t in (1e-3, 0.7, 5.0):
        ours = DEATH.reverse_rates(x, t, start)[0]
        generic = super(PureDeath, DEATH).reverse_rates(x, t, start)[0]
        assert torch.allclose(ours, generic, rtol=1e-12, atol=1e-12)
    assert (DEATH.reverse_rates(STATES, 0.0, STATES)[0] == 0).all()


@pytest.mark.parametrize("t", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("process", [DEATH, Ehrenfest(M, 0.3), random_generator()])
def test_forward_and_reverse_generators_leave_the_marginal_alone(process, t):
    chain = process if isinstance(process, FiniteProcess) else finite(process)
    law = chain.marginal(P0[: chain.n_states] / P0[: chain.n_states].sum(), t)
    both = chain.generator + chain.reverse_generator(law)
    assert (law @ both).abs().max() < 1e-13


def test_marginal_reverse_rates_are_means_of_conditional_ones():
    chain, t = random_generator(), 0.6
    law0 = torch.tensor([0.1, 0.4, 0.0, 0.3, 0.2], dtype=torch.float64)
    given = chain.transition(t)  # (start, x)
    posterior = (law0.unsqueeze(-1) * given).T  # (x, start), to be normalised
    posterior = posterior / posterior.sum(-1, keepdim=True)
    mean = torch.einsum("xo,oxy->xy", posterior, chain.reverse_generator(given))
    exact = chain.reverse_generator(chain.marginal(law0, t))
    assert torch.allclose(mean, exact, rtol=0, atol=1e-13)


def test_the_conditional_reverse_equation_reproduces_the_bridge():
    """Integrated backwards from X_t = n with a fourth-order rule, to p(X_s | X_0, X_t)."""
    chain = finite(DEATH)
    start, end, s, t, steps = 6, 2, 0.25, 0.7, 400
    law = torch.eye(M + 1, dtype=torch.float64)[end]
    h = (t - s) / steps

    def flow(law, time):
        return law @ chain.reverse_generator(chain.transition(time)[start])

    for i in range(steps):
        time = t - i * h
        a = flow(law, time)
        b = flow(law + h / 2 * a, time - h / 2)
        c = flow(law + h / 2 * b, time - h / 2)
        d = flow(law + h * c, time - h)
        law = law + h / 6 * (a + 2 * b + 2 * c + d)
    assert (law - chain.bridge(start, end, s, t)).abs().max() < 1e-9


def test_the_binomial_bridge_is_bayes():
    s, t = torch.tensor([0.25, 0.7], dtype=torch.float64)
    r = torch.exp(-s) * -torch.expm1(s - t) / -torch.expm1(-t)
    chain = finite(DEATH)
    for start in range(M + 1):
        for end in range(start + 1):
            law = log_binomial(STATES - end, torch.tensor(start - end), r, 1 - r).exp()
            assert torch.allclose(law, chain.bridge(start, end, float(s), float(t)), atol=1e-14)


def test_bridge_samples_have_the_law():
    """Chi-squared of 40,000 draws at s = 0.25 between 7 and 2 at t = 0.7."""
    from scipy.stats import chi2

    n = 40_000
    x0, x1 = torch.full((n,), 7), torch.full((n,), 2)
    x = DEATH.sample_bridge(x0, x1, 0.25, 0.45, torch.Generator().manual_seed(0))
    law = finite(DEATH).bridge(7, 2, 0.25, 0.7)
    seen = torch.bincount(x, minlength=M + 1)
    possible = law > 1e-3
    assert not seen[~(law > 0)].any()
    assert ((seen - n * law) ** 2 / (n * law))[possible].sum() < chi2.ppf(1 - 1e-6, 5)


def test_discrete_reversal_undoes_a_step():
    kernel = random_generator(seed=3).transition(0.4)
    before = torch.tensor([0.0, 0.5, 0.2, 0.3, 0.0], dtype=torch.float64)
    reverse = reverse_kernel(kernel, before)
    assert torch.allclose(reverse.sum(1), torch.ones(5, dtype=torch.float64), atol=1e-14)
    assert torch.allclose((before @ kernel) @ reverse, before, rtol=0, atol=1e-14)


def test_score_of_pure_death():
    t, start = 0.7, torch.tensor(6)
    x = STATES[:7]
    survival = torch.exp(torch.tensor(-t, dtype=torch.float64))
    ratio = (start * survival - x) / (1 - survival) - 1
    births, _ = DEATH.score(x, t, start)
    # nu(m + 1) = m + 1 takes away the prefactor 1 / (m + 1)
    assert torch.allclose(births, ratio, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "process",
    [DEATH, Ehrenfest(M, 0.3), ImmigrationDeath(2.0)],
    ids=["death", "Ehrenfest", "queue"],
)
def test_samples_have_the_law(process):
    """Pearson's chi-squared of 40,000 draws after t = 0.7 from 6, below its 1 - 1e-6 quantile."""
    from scipy.stats import chi2

    n = 40_000
    x = process.sample(torch.full((n,), 6), 0.7, torch.Generator().manual_seed(1))
    assert not x.is_floating_point()
    law = process.log_marginal(torch.arange(16), 0.7, torch.tensor(6)).exp()
    seen = torch.bincount(x, minlength=16)[:16]
    common = law * n > 5
    statistic = ((seen - law * n) ** 2 / (law * n))[common].sum()
    assert statistic < chi2.ppf(1 - 1e-6, int(common.sum()))


def test_limits():
    assert not DEATH.sample_limit(3, 4).any() and DEATH.sample_limit(1).dtype == torch.uint8
    g = torch.Generator().manual_seed(0)
    n = 20_000
    for process, mean, variance in (
        (Ehrenfest(M, 0.3), 2.4, 1.68), (ImmigrationDeath(2.0), 2.0, 2.0),
    ):  # fmt: skip
        x = process.sample_limit(n, generator=g).double()
        assert abs(x.mean() - mean) < 5 * (variance / n) ** 0.5
        assert abs(x.var() - variance) < 0.1


def test_survival_of_the_brightest_pixel():
    """Section 2.7: P(X_15 = 0 | 255) is above 0.9999."""
    left = PureDeath(255).log_marginal(torch.tensor(0), 15.0, torch.tensor(255)).exp()
    assert 0.999921 < left < 0.999923


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PureDeath(0), "at least 1"),
        (lambda: ImmigrationDeath(0.0), "positive"),
        (lambda: Ehrenfest(3, 1.0), "share"),
        (lambda: FiniteProcess(torch.ones(2, 3)), "square"),
        (lambda: FiniteProcess(torch.ones(2, 2)), "rows that sum to zero"),
    ],
)
def test_bad_processes_are_refused(make, words):
    with pytest.raises(UserError, match=words):
        make()


@pytest.mark.parametrize("process", [PureDeath(255), Ehrenfest(255), ImmigrationDeath(20.0)])
def test_counts_in_bytes_do_not_wrap_around(process):
    x, start = torch.tensor([0, 3, 254, 255]), torch.tensor(255)
    wide = process.reverse_rates(x, 0.7, start), process.score(x, 0.7, start)
    small = x.to(torch.uint8)
    bytes_ = process.reverse_rates(small, 0.7, start), process.score(small, 0.7, start)
    assert all(
        torch.equal(a, b)
        for w, s in zip(wide, bytes_, strict=True)
        for a, b in zip(w, s, strict=True)
    )


def test_a_queue_that_starts_in_bytes_grows_beyond_them():
    x = torch.full((20_000,), 254, dtype=torch.uint8)
    mean = ImmigrationDeath(250.0).sample(x, 0.5, generator()).double().mean()
    kept, rate = 254 * math.exp(-0.5), 250 * (1 - math.exp(-0.5))
    error = math.sqrt((kept * (1 - math.exp(-0.5)) + rate) / len(x))
    assert abs(mean - kept - rate) < 4 * error


def test_an_urn_larger_than_a_byte_that_starts_in_bytes_fills():
    x = torch.full((20_000,), 10, dtype=torch.uint8)
    mean = Ehrenfest(300).sample(x, 50.0, generator()).double().mean()
    assert abs(mean - 150) < 4 * math.sqrt(300 / 4 / len(x))
