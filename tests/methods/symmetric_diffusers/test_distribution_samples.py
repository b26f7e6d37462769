"""Samplers against the laws; greedy choices against the modes."""

import math

import pytest
import torch

from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseInsertion,
    InverseRiffle,
    InverseTransposition,
    PlackettLuce,
)
from jumpbench.methods.symmetric_diffusers.distributions.base import (
    LARGEST_EXPONENT,
    exponentials_are_plain,
)
from jumpbench.methods.symmetric_diffusers.distributions.generalised_sampling import (
    rows_by_argmax,
    rows_by_inversion,
)
from jumpbench.processes.permutations import all_permutations, is_permutation, lexicographic_rank
from jumpbench.seeding import make_generator

DRAWS, LISTS = 100_000, 3
FAMILIES = {
    "PL": lambda s: PlackettLuce(s[..., 0]),
    "GPL": GeneralisedPlackettLuce,
    "IRS": lambda s: InverseRiffle(s[..., 0]),
    "IT": lambda s: InverseTransposition(s[..., 0], s[..., 0, 0]),
    "II": lambda s: InverseInsertion(s[..., 0]),
}


def scores(*shape, seed=0):
    return torch.randn(*shape, generator=make_generator(seed, "scores"))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [3, 4, 5])
def test_samples_have_the_law(family, n):
    law = FAMILIES[family](scores(LISTS, n, n))
    check_law(law.sample(make_generator(n, "draws"), (DRAWS,)), law)


@pytest.mark.parametrize("form", [rows_by_argmax, rows_by_inversion])
def test_both_forms_of_row_by_row_sampling_have_the_law(form):
    matrix = 2 * scores(LISTS, 4, 4, seed=6)
    draws = form(matrix, (DRAWS, LISTS), make_generator(6, "draws"))
    assert not draws.is_inference()  # such a tensor could not index what is differentiated
    check_law(draws, GeneralisedPlackettLuce(matrix))


def test_inversion_never_takes_a_column_twice():
    """Also where what is left is as improbable as the form allows, and beyond that form."""
    n = 60
    for spread in (LARGEST_EXPONENT, 1000.0):
        matrix = scores(20, n, n, seed=7).sign() * spread
        draws = GeneralisedPlackettLuce(matrix).sample(make_generator(7, "draws"), (50,))
        assert exponentials_are_plain(matrix) == (spread == LARGEST_EXPONENT)
        assert is_permutation(draws).all()
        # A row of +spread somewhere and -spread elsewhere takes one of the former.
        first = matrix[:, 0].expand(50, -1, -1).gather(-1, draws[..., :1])
        assert (first == spread).all()


@pytest.mark.parametrize("u", [0.0, 1 - 2**-24])
def test_inversion_at_the_ends_of_the_uniform_law(u, monkeypatch):
    monkeypatch.setattr(
        torch, "rand", lambda shape, **kind: torch.full(shape, u, dtype=kind["dtype"])
    )
    draws = rows_by_inversion(scores(200, 12, 12, seed=8), (200,), make_generator(8, "ends"))
    assert is_permutation(draws).all()
    assert (draws[:, 0] == (0 if u == 0 else 11)).all()


def check_law(draws, law):
    """Chi-squared over the cells with >= 20 expected draws; z = 5 is a failure."""
    n = draws.shape[-1]
    probabilities = law.log_prob(all_permutations(n)[:, None]).double().exp().T
    for ranks, p in zip(lexicographic_rank(draws).T, probabilities, strict=True):
        counts = torch.bincount(ranks, minlength=len(p)).double()
        assert not counts[p == 0].any()
        cells = p * DRAWS >= 20
        chi2 = ((counts - p * DRAWS)[cells] ** 2 / (p * DRAWS)[cells]).sum()
        freedom = int(cells.sum()) - 1
        assert abs(chi2 - freedom) < 5 * (2 * freedom) ** 0.5 + 10


def test_long_lists_cross_the_blocks_of_rows():
    """First and last position of 41 objects: marginals within 5 standard errors.

    Row 1 is a plain softmax; under equal rows the last object has the law of the inverse order.
    """
    n, draws = 41, 20_000
    matrix = scores(n, n, seed=3)
    sample = GeneralisedPlackettLuce(matrix).sample(make_generator(0, "long"), (draws,))
    assert is_permutation(sample).all()
    p = matrix[0].softmax(-1)
    found = torch.bincount(sample[:, 0], minlength=n) / draws
    assert ((found - p).abs() < 5 * (p * (1 - p) / draws).sqrt() + 1e-4).all()
    rows = matrix[:1].expand(n, n)
    ours = GeneralisedPlackettLuce(rows).sample(make_generator(1, "long"), (draws,))
    other = PlackettLuce(matrix[0]).sample(make_generator(2, "long"), (draws,))
    for place in (10, 20, 31, 40):
        a, b = (torch.bincount(x[:, place], minlength=n) / draws for x in (ours, other))
        spread = ((a + b) / draws).sqrt()
        assert ((a - b).abs() < 5 * spread + 2e-4).all()


def test_saturated_logits_still_give_permutations():
    n = 30
    wide = torch.empty(16, n, n).uniform_(-128, 128, generator=make_generator(0, "wide"))
    wide[:, 0, 1:] = wide[:, 1:, 0] = -math.inf
    law = GeneralisedPlackettLuce(wide)
    sample = law.sample(make_generator(1, "wide"), (4,))
    assert is_permutation(sample).all() and (sample[..., 0] == 0).all()
    assert torch.isfinite(law.log_prob(sample)).all()
    greedy = law.greedy()
    assert is_permutation(greedy).all() and (greedy[..., 0] == 0).all()


@pytest.mark.parametrize("family", ["PL", "IT", "II"])
@pytest.mark.parametrize("n", [2, 5])
def test_greedy_is_the_exact_mode_where_promised(family, n):
    law = FAMILIES[family](2 * scores(200, n, n))
    best = law.log_prob(all_permutations(n)[:, None]).amax(0)
    assert torch.allclose(law.log_prob(law.greedy()), best)


def test_greedy_riffle_misses_the_merged_identity():
    # Every left set alone is improbable, but n + 1 of them are the identity.
    law = InverseRiffle(torch.tensor([-0.2, 0.2, 0.2]))
    log_p = law.log_prob(all_permutations(3))
    assert log_p.argmax() == 0
    assert law.greedy().tolist() == [1, 2, 0]
    assert law.beam(1).permutations.tolist() == [[0, 1, 2]]


def test_same_seed_same_sample():
    for make in FAMILIES.values():
        law = make(scores(4, 6, 6))
        a, b = (law.sample(make_generator(5, "same"), (3,)) for _ in range(2))
        assert torch.equal(a, b)


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_that_are_no_numbers_give_no_permutations(family):
    """Every comparison with NaN has an answer, so that a permutation would come out."""
    broken = scores(3, 4, 4)
    broken[1, 0, 0] = torch.nan
    with pytest.raises(ValueError, match="scores of permutations are NaN"):
        FAMILIES[family](broken)
    learned = FAMILIES[family](broken.requires_grad_())  # here the loss says so
    assert learned.log_prob(torch.arange(4)).isnan().any()
