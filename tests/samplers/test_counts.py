"""The samplers of counts: their laws on an enumerable problem, invariances, costs, bad input."""

from functools import partial

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.methods.blackout.enumeration import (
    EnumeratedCounts,
    bridge_steps,
    corrector_steps,
    poisson_steps,
    textbook,
)
from jumpbench.processes.death import PureDeath
from jumpbench.processes.observation_times import FisherTimes
from jumpbench.samplers.counts import (
    BinomialBridge,
    Corrector,
    PoissonLeap,
    PosteriorBridge,
    generate_counts,
    nearest,
    stochastic,
)

M, N = 8, 40_000
COUNTS = EnumeratedCounts([0.05, 0, 0.2, 0.1, 0, 0.05, 0.3, 0, 0.3])
DEATH, GRID = PureDeath(M), FisherTimes(20, 15.0)
MEANS = [None, *(COUNTS.lost(GRID, k)[:, 0].float() for k in range(1, 21))]


def lost(x, k):
    return MEANS[k][x.long()]


def posterior_draw(x, k, generator):
    law = COUNTS.posterior(GRID, k)[x[:, 0].long()]
    start = torch.multinomial(law, 1, generator=generator)
    return (start - x).to(x.dtype)


def draw(step, seed=0, n=N, **options):
    generator = torch.Generator().manual_seed(seed)
    return generate_counts(lost, DEATH, GRID, (n, 1), step, generator=generator, **options)


def has_law(samples, law, n=N):
    """Pearson's chi-squared below its 1 - 1e-6 quantile."""
    from scipy.stats import chi2

    seen = torch.bincount(samples.flatten().long(), minlength=M + 1)
    common = law * n > 5
    statistic = ((seen - law * n) ** 2 / (law * n))[common].sum()
    assert seen[~common].sum() < 60 and statistic < chi2.ppf(1 - 1e-6, int(common.sum()))


@pytest.mark.parametrize(
    ("step", "exact"),
    [
        (BinomialBridge(DEATH, nearest), {"steps": bridge_steps(M, False)}),
        (BinomialBridge(DEATH, stochastic), {"steps": bridge_steps(M, True)}),
        (PoissonLeap(DEATH), {"steps": poisson_steps(M)}),
        (PoissonLeap(DEATH, textbook=GRID), {"steps": poisson_steps(M), "factors": textbook(GRID)}),
    ],
    ids=["nearest", "stochastic", "poisson", "textbook"],
)
def test_samples_have_the_enumerated_law(step, exact):
    drawn = draw(step)
    assert drawn.samples.dtype == torch.uint8
    assert drawn.cost.network_evaluations == drawn.cost.sequential_steps == 20
    has_law(drawn.samples, COUNTS.sampled_law(grid=GRID, **exact))


def test_a_textbook_leap_is_told_the_stride():
    drawn = draw(PoissonLeap(DEATH, textbook=GRID, stride=5), stride=5)
    factors = textbook(GRID, 5)
    has_law(drawn.samples, COUNTS.sampled_law(poisson_steps(M), GRID, stride=5, factors=factors))


def test_a_textbook_leap_of_another_stride_is_refused():
    with pytest.raises(UserError, match=r"PoissonLeap\(stride=1\) with stride=5"):
        draw(PoissonLeap(DEATH, textbook=GRID), n=1, stride=5)


def test_a_time_that_is_not_visited_cannot_be_kept():
    with pytest.raises(UserError, match=r"keep=\[7\]: with stride=5"):
        draw(PoissonLeap(DEATH), n=1, stride=5, keep=(20, 10, 7, 0))


def test_the_posterior_bridge_recovers_the_data():
    has_law(draw(PosteriorBridge(DEATH, posterior_draw)).samples, COUNTS.law)


def test_corrector_steps_have_the_enumerated_law_and_cost():
    corrector = Corrector(DEATH, GRID, repeats=2, size=0.25)
    drawn = draw(PoissonLeap(DEATH), corrector=corrector)
    exact = COUNTS.sampled_law(poisson_steps(M), GRID, corrector=corrector_steps(M, GRID, 0.25))
    has_law(drawn.samples, exact)
    assert drawn.cost.network_evaluations == 20 + 2 * 19


def test_a_corrector_of_a_coarser_grid_takes_its_longer_steps():
    corrector = Corrector(DEATH, GRID, repeats=2, size=1.0)
    drawn = draw(PoissonLeap(DEATH), corrector=corrector, stride=5)
    steps = corrector_steps(M, GRID, 1.0, stride=5)
    has_law(drawn.samples, COUNTS.sampled_law(poisson_steps(M), GRID, stride=5, corrector=steps))


def test_a_corrector_that_enters_late_costs_less():
    late = Corrector(DEATH, GRID, repeats=2, entry_time=float(GRID.times[5]))
    assert draw(PoissonLeap(DEATH), n=10, corrector=late).cost.network_evaluations == 20 + 2 * 5


def test_a_coarser_grid_visits_fewer_times():
    drawn = draw(BinomialBridge(DEATH, stochastic), stride=5)
    assert drawn.cost.sequential_steps == 4
    has_law(drawn.samples, COUNTS.sampled_law(bridge_steps(M, True), GRID, stride=5))


@pytest.mark.parametrize("maximum", [1, 255, 300])
@pytest.mark.parametrize("rounding", [nearest, stochastic])
def test_told_what_is_lost_the_bridge_returns_the_data(maximum, rounding):
    """Teacher forcing: X never falls, never passes M, ends at X_0, along the forward law."""
    process = PureDeath(maximum)
    generator = torch.Generator().manual_seed(maximum)
    start = torch.randint(0, maximum + 1, (400, 5), generator=generator)
    drawn = generate_counts(
        lambda x, k: (start - x).float(), process, GRID, (400, 5),
        BinomialBridge(process, rounding), keep=range(21), generator=generator,
    )  # fmt: skip
    path = drawn.extras["path"].long()
    assert torch.equal(drawn.samples.long(), start) and torch.equal(path[:, -1], start)
    assert (path.diff(dim=1) >= 0).all() and path.max() <= maximum
    kept = path[:, 10].double().mean() / start.double().mean()
    n = start.sum()
    q = float(GRID.survival[10])
    assert abs(kept - q) < 5 * (q * (1 - q) / n) ** 0.5


def test_the_last_bridge_step_is_deterministic():
    step = BinomialBridge(DEATH, nearest)
    x = torch.tensor([[3], [0]], dtype=torch.uint8)
    y = torch.tensor([[2.4], [99.0]])
    assert step(x, lambda x, k: y, 1, 1.0, None).tolist() == [[5], [8]]


@pytest.mark.parametrize("step", [PoissonLeap(DEATH), BinomialBridge(DEATH, stochastic)])
def test_wild_predictions_stay_inside(step):
    wild = partial(torch.full_like, dtype=torch.float32)
    for value, expected in ((1e6, M), (-3.0, 0)):
        lost = partial(lambda x, k, value: wild(x, fill_value=value), value=value)
        rng = torch.Generator().manual_seed(0)
        x = generate_counts(lost, DEATH, GRID, (50, 3), step, generator=rng).samples
        assert (x == expected).all()


def test_a_stride_that_does_not_divide_is_refused():
    with pytest.raises(UserError, match="does not divide"):
        draw(PoissonLeap(DEATH), stride=7, n=2)


@pytest.mark.parametrize("step", [PoissonLeap(DEATH), BinomialBridge(DEATH, nearest)])
def test_a_model_that_gives_no_numbers_gives_no_pictures(step):
    """One site of one sample at one late time is enough; as integers NaN would be 0."""

    def lost(x, k):
        y = torch.ones(x.shape)
        y[3, 1] = torch.nan if k == 5 else 1.0
        return y

    with pytest.raises(ValueError, match="expected losses of counts are NaN"):
        generate_counts(lost, DEATH, GRID, (6, 2), step, generator=torch.Generator().manual_seed(0))
