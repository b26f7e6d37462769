from fractions import Fraction
from math import factorial

import pytest
import torch

from jumpbench.processes.permutations import all_permutations, descents, rising_sequences
from jumpbench.processes.shuffles import (
    RandomInsertion,
    RandomTransposition,
    Riffle,
    eulerian,
    tv_between,
    tv_to_uniform,
)
from jumpbench.processes.shuffles.total_variation import (
    law_by_convolution,
    riffle_probability,
    tv_of_laws,
)


def test_eulerian_rows():
    assert eulerian(5) == (1, 26, 66, 26, 1)
    for n in (1, 2, 7, 52, 200):
        assert sum(eulerian(n)) == factorial(n)
    with pytest.raises(ValueError, match="n >= 1"):
        eulerian(0)


@pytest.mark.parametrize("n", [3, 4])
def test_eulerian_numbers_count_rising_sequences(n):
    counts = torch.bincount(rising_sequences(all_permutations(n)), minlength=n + 1)[1:]
    assert tuple(counts.tolist()) == eulerian(n)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("t", [0, 1, 2, 3])
def test_riffle_law_is_the_convolution_of_riffles(n, t):
    law = law_by_convolution(Riffle(n), t)
    group = all_permutations(n)
    exact = [float(riffle_probability(n, t, r)) for r in rising_sequences(group).tolist()]
    assert torch.allclose(law, torch.tensor(exact, dtype=torch.float64), atol=1e-15)


@pytest.mark.parametrize(("n", "mismatches"), [(3, 0), (4, 2)])
def test_descents_of_sigma_itself_are_wrong_from_four_cards_on(n, mismatches):
    group = all_permutations(n)
    wrong = [float(riffle_probability(n, 1, 1 + d)) for d in descents(group).tolist()]
    law = law_by_convolution(Riffle(n), 1)
    differs = (law - torch.tensor(wrong, dtype=torch.float64)).abs() > 1e-12
    assert int(differs.sum()) == mismatches


# Classical values; four digits (three for the deck of 52).
TO_UNIFORM = {
    3: {1: 0.3333, 2: 0.1458, 3: 0.0677, 4: 0.0326},
    4: {1: 0.5, 2: 0.2812, 3: 0.1445, 4: 0.0728},
    52: dict(enumerate([1, 1, 1, 1, 0.924, 0.614, 0.334, 0.167, 0.085, 0.043], start=1)),
    100: {6: 0.9815, 7: 0.7473, 8: 0.4288, 9: 0.2239, 10: 0.1122, 12: 0.0284, 14: 0.0071},
}


@pytest.mark.parametrize("n", TO_UNIFORM)
def test_distance_to_uniform(n):
    digits = 3 if n == 52 else 4
    for t, value in TO_UNIFORM[n].items():
        assert float(tv_to_uniform(n, t)) == pytest.approx(value, abs=0.51 * 10**-digits)


def test_distance_between_times():
    expected = {(8, 10): 0.331, (10, 15): 0.109, (7, 8): 0.434, (8, 9): 0.222}
    for (s, t), value in expected.items():
        assert float(tv_between(100, t, s)) == pytest.approx(value, abs=5.1e-4)
        assert tv_between(100, s, t) == tv_between(100, t, s)
    assert tv_between(9, 4, 4) == 0
    # From the point mass at the identity (t = 0) everything else is new.
    assert tv_between(3, 1, 0) == 1 - riffle_probability(3, 1, 1)


def test_fifteen_riffles_of_a_hundred():
    assert tv_to_uniform(100, 15) <= Fraction(5, 1000) < tv_to_uniform(100, 14)


@pytest.mark.parametrize("n", [3, 4])
def test_closed_forms_against_enumeration(n):
    uniform = torch.full((factorial(n),), 1 / factorial(n), dtype=torch.float64)
    laws = [law_by_convolution(Riffle(n), t) for t in range(4)]
    for t, law in enumerate(laws):
        assert float(tv_of_laws(law, uniform)) == pytest.approx(float(tv_to_uniform(n, t)))
        for s in range(t):
            expected = float(tv_between(n, t, s))
            assert float(tv_of_laws(law, laws[s])) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("shuffle", "n", "expected"),
    [
        (RandomTransposition, 3, [0.3333, 0.0926, 0.0370, 0.0103]),
        (RandomTransposition, 4, [0.7083, 0.2812, 0.1693, 0.0762]),
        (RandomInsertion, 3, [0.5, 0.1667, 0.0556, 0.0185]),
        (RandomInsertion, 4, [0.8333, 0.5, 0.3125, 0.1719]),
    ],
)
def test_slow_walks_by_convolution(shuffle, n, expected):
    uniform = torch.full((factorial(n),), 1 / factorial(n), dtype=torch.float64)
    for t, value in enumerate(expected, start=1):
        distance = float(tv_of_laws(law_by_convolution(shuffle(n), t), uniform))
        assert distance == pytest.approx(value, abs=5.1e-5)


def test_convolution_refuses_large_groups():
    with pytest.raises(ValueError, match="n <= 6"):
        law_by_convolution(Riffle(7), 1)
