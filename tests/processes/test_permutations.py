import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpbench.processes.permutations import (
    all_permutations,
    apply,
    check_permutations,
    compose,
    descents,
    identity,
    inverse,
    is_permutation,
    lexicographic_rank,
    random_permutations,
    reverse_target,
    rising_sequences,
)
from jumpbench.seeding import make_generator


@given(st.integers(1, 8), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_group_axioms_and_the_right_action(n, seed):
    generator = make_generator(seed, "permutations")
    a, b, c = random_permutations(3, 4, n=n, generator=generator).unbind(0)
    objects = torch.randn(4, n, 2, generator=generator)
    assert torch.equal(compose(compose(a, b), c), compose(a, compose(b, c)))
    assert torch.equal(compose(a, inverse(a)), identity(4, n=n))
    assert torch.equal(compose(inverse(a), a), identity(4, n=n))
    assert torch.equal(inverse(a), a.argsort(-1))
    # Right action: X_0[a] reordered by b is X_0[a[b]].
    assert torch.equal(apply(b, apply(a, objects)), apply(compose(a, b), objects))
    assert torch.equal(compose(a, reverse_target(a, b)), b)


def test_action_is_a_gather_on_objects_of_any_shape():
    sigma = torch.tensor([[2, 0, 1], [1, 0, 2]])
    images = torch.arange(2 * 3 * 4).view(2, 3, 2, 2)
    moved = apply(sigma, images)
    assert torch.equal(moved[0, 0], images[0, 2]) and torch.equal(moved[1, 0], images[1, 1])


def test_rising_sequences_are_counted_on_the_inverse():
    # (1 4 2 5 3): the runs 1 2 3 and 4 5. Descents of the array itself would give 3.
    sigma = torch.tensor([0, 3, 1, 4, 2])
    assert rising_sequences(sigma) == 2
    assert 1 + descents(sigma) == 3


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_enumeration_and_rank_agree(n):
    group = all_permutations(n)
    assert len(group) == math.factorial(n)
    assert is_permutation(group).all()
    assert torch.equal(lexicographic_rank(group), torch.arange(len(group)))


def test_uniform_permutations_are_uniform():
    counts = torch.bincount(
        lexicographic_rank(
            random_permutations(240_000, n=4, generator=make_generator(0, "uniform"))
        ),
        minlength=24,
    )
    chi2 = ((counts - 10_000.0) ** 2 / 10_000).sum()
    assert chi2 < 64  # 23 degrees of freedom: exceeded with probability 1e-5


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (torch.tensor([0, 1, 1]), "index 1 is repeated"),
        (torch.tensor([[0, 1], [1, 2]]), "index 2 is outside 0..1"),
        (torch.tensor([0, -1]), "index -1 is outside"),
        (torch.tensor([0.0, 1.0]), "integers"),
        (torch.empty(2, 0, dtype=torch.long), "n >= 1"),
    ],
)
def test_faulty_permutations_are_named(candidate, message):
    with pytest.raises(ValueError, match=message):
        check_permutations(candidate)


def test_sound_permutations_pass():
    check_permutations(all_permutations(4))
    check_permutations(torch.tensor([0]))


def test_enumeration_refuses_large_groups():
    with pytest.raises(ValueError, match="n = 10"):
        all_permutations(10)
