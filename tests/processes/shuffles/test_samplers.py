"""Samplers against the laws, and the law of trajectories."""

import pytest
import torch

from jumpbench.processes.permutations import (
    all_permutations,
    compose,
    identity,
    is_permutation,
    lexicographic_rank,
    reverse_target,
)
from jumpbench.processes.shuffles import RandomInsertion, RandomTransposition, Riffle
from jumpbench.processes.shuffles.riffle import a_shuffle, riffle
from jumpbench.processes.shuffles.total_variation import law_by_convolution
from jumpbench.seeding import make_generator
from oracles import all_states

DRAWS = 200_000


def check_law(draws, law):
    """Chi-squared over the cells with >= 20 expected draws; beyond z = 5 is a failure.

    Impossible permutations must not be drawn at all.
    """
    counts = torch.bincount(lexicographic_rank(draws), minlength=len(law)).double()
    assert not counts[law == 0].any()
    expected = law * len(draws)
    cells = expected >= 20
    chi2 = ((counts - expected)[cells] ** 2 / expected[cells]).sum()
    freedom = int(cells.sum()) - 1
    assert abs(chi2 - freedom) < 5 * (2 * freedom) ** 0.5 + 10


@pytest.mark.parametrize(("n", "bits", "t"), [(3, 2, 2), (4, 2, 2), (4, 1, 1), (3, 3, 3)])
def test_digit_form_has_exactly_the_law_of_t_riffles(n, bits, t):
    digits = all_states(2**bits, n)
    counts = torch.bincount(
        lexicographic_rank(a_shuffle(digits)), minlength=len(all_permutations(n))
    )
    law = Riffle(n).log_prob(all_permutations(n), steps=t).exp()
    assert torch.allclose(counts.double() / len(digits), law, atol=1e-14)


def test_counting_and_sorting_give_the_same_riffle():
    piles = torch.randint(2, (50, 37), generator=make_generator(0, "piles"))
    assert torch.equal(riffle(piles), a_shuffle(piles))


@pytest.mark.parametrize("shuffle", [Riffle(4), RandomTransposition(4), RandomInsertion(4)])
@pytest.mark.parametrize("steps", [1, 3])
def test_samples_have_the_law(shuffle, steps):
    draws = shuffle.sample(DRAWS, generator=make_generator(1, "law"), steps=steps)
    check_law(draws, law_by_convolution(shuffle, steps))


@pytest.mark.parametrize("shuffle", [Riffle(4), RandomTransposition(4), RandomInsertion(4)])
@pytest.mark.parametrize("times", [[0, 1, 2, 3], [0, 2, 3], [1, 2, 4, 4, 5]])
def test_states_of_a_trajectory_have_the_laws_of_their_times(shuffle, times):
    states = shuffle.trajectory(DRAWS // 4, times=times, generator=make_generator(2, "states"))
    assert states.shape == (len(times), DRAWS // 4, 4)
    steps = compose(states[0].argsort(-1), states[1])
    check_law(steps, law_by_convolution(shuffle, times[1] - times[0]))
    for time, state in zip(times, states, strict=True):
        check_law(state, law_by_convolution(shuffle, time))


def test_a_schedule_deals_the_riffles_that_all_single_steps_would():
    """Short gaps cost no sort: the same riffles, of which only the scheduled states are kept."""
    times = [0, 8, 10, 15]
    every = Riffle(30).trajectory(5, times=range(16), generator=make_generator(4, "deal"))
    some = Riffle(30).trajectory(5, times=times, generator=make_generator(4, "deal"))
    assert torch.equal(some, every[times])


def test_geometric_form_of_two_riffles_agrees():
    # A second, independent algorithm: argsort of the fractional parts of 4 x sorted uniforms.
    x = torch.rand(DRAWS, 4, generator=make_generator(3, "geometric"), dtype=torch.float64)
    draws = (4 * x.sort(-1).values).frac().argsort(-1)
    check_law(draws, Riffle(4).log_prob(all_permutations(4), steps=2).exp())


@pytest.mark.parametrize("shuffle", [Riffle, RandomTransposition, RandomInsertion])
def test_one_step_laws_sum_to_one_on_the_right_support(shuffle):
    support = {Riffle: 2**5 - 5, RandomTransposition: 1 + 10, RandomInsertion: 5}
    law = shuffle(5).log_prob(all_permutations(5)).exp()
    assert float(law.sum()) == pytest.approx(1, abs=1e-12)
    assert int((law > 0).sum()) == support[shuffle]


def test_many_cards_and_many_riffles_stay_exact():
    deck = Riffle(200)
    draws = deck.sample(300, generator=make_generator(4, "deck"), steps=70)
    assert is_permutation(draws).all()
    assert deck.log_prob(draws, steps=70).allclose(-torch.lgamma(torch.tensor(201.0)).double())
    few = deck.log_prob(identity(n=200), steps=12)
    assert torch.isfinite(few)
    assert deck.log_prob(identity(n=200).flip(0), steps=7) == -torch.inf  # r = 200 > 2^7


def test_reverse_targets_undo_a_trajectory_exactly():
    generator = make_generator(5, "undo")
    states = Riffle(30).trajectory(8, times=[0, 6, 8, 12], generator=generator)
    objects = torch.randn(8, 30, generator=generator)
    shuffled = [objects.gather(1, state) for state in states]
    total = identity(8, n=30)
    for later, earlier in ((3, 2), (2, 1), (1, 0)):
        step = reverse_target(states[later], states[earlier])
        assert torch.equal(shuffled[later].gather(1, step), shuffled[earlier])
        total = compose(total, step)
    assert torch.equal(compose(states[3], total), states[0])


def test_zero_steps_are_the_identity_and_seeds_repeat():
    for shuffle in (Riffle(6), RandomTransposition(6), RandomInsertion(6)):
        still = shuffle.sample(2, generator=make_generator(0, "still"), steps=0)
        assert torch.equal(still, identity(2, n=6))
        a, b = (shuffle.sample(9, generator=make_generator(7, "x"), steps=4) for _ in range(2))
        assert torch.equal(a, b)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="n >= 1"):
        Riffle(0)
    with pytest.raises(ValueError, match=">= 0"):
        Riffle(3).sample(generator=make_generator(0, "x"), steps=-1)
    with pytest.raises(ValueError, match="non-decreasing"):
        Riffle(3).trajectory(times=[0, 3, 2], generator=make_generator(0, "x"))
    with pytest.raises(ValueError, match="3 objects, got 4"):
        Riffle(3).log_prob(identity(n=4))
