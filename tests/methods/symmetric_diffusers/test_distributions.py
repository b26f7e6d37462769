"""Likelihoods: normalisation, supports, formulas recomputed, gradients, extreme logits."""

import math

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseInsertion,
    InverseRiffle,
    InverseTransposition,
    PlackettLuce,
    base,
    generalised_sampling,
)
from jumpbench.processes.permutations import all_permutations, inverse, random_permutations
from jumpbench.processes.shuffles import RandomInsertion, RandomTransposition, Riffle
from jumpbench.seeding import make_generator

FAMILIES = {
    "PL": (lambda s: PlackettLuce(s[..., 0]), math.factorial),
    "GPL": (GeneralisedPlackettLuce, math.factorial),
    "IRS": (lambda s: InverseRiffle(s[..., 0]), lambda n: 2**n - n),
    "IT": (lambda s: InverseTransposition(s[..., 0], s[..., 0, 0]), lambda n: 1 + n * (n - 1) // 2),
    "II": (lambda s: InverseInsertion(s[..., 0]), lambda n: n),
}


def scores(*shape, seed=0, std=2.0):
    generator = make_generator(seed, "scores")
    return std * torch.randn(*shape, generator=generator, dtype=torch.float64)


def matrix_law(matrix, sigma):
    """GPL log-probability of one permutation by its defining product, in Python floats."""
    left, result = list(range(len(sigma))), 0.0
    for row, choice in enumerate(sigma):
        weights = [math.exp(float(matrix[row, j])) for j in left]
        result += float(matrix[row, choice]) - math.log(sum(weights))
        left.remove(choice)
    return result


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_probabilities_sum_to_one_on_the_right_support(family, n):
    make, support = FAMILIES[family]
    log_p = make(scores(6, n, n)).log_prob(all_permutations(n)[:, None])
    assert torch.allclose(log_p.exp().sum(0), torch.ones(6, dtype=torch.float64), atol=1e-12)
    assert ((log_p > -math.inf).sum(0) == support(n)).all()


@pytest.mark.parametrize("n", [1, 4, 7, 9])
def test_generalised_plackett_luce_is_the_row_by_row_product(n):
    matrix = scores(n, n)
    sigmas = random_permutations(5, n=n, generator=make_generator(0, "sigmas"))
    expected = [matrix_law(matrix, sigma) for sigma in sigmas.tolist()]
    found = GeneralisedPlackettLuce(matrix).log_prob(sigmas)
    assert found.tolist() == pytest.approx(expected, abs=1e-10)


def test_equal_rows_are_plackett_luce():
    s = scores(3, 6)
    sigmas = random_permutations(4, 3, n=6, generator=make_generator(1, "sigmas"))
    rows = GeneralisedPlackettLuce(s[:, None].expand(3, 6, 6))
    assert torch.allclose(rows.log_prob(sigmas), PlackettLuce(s).log_prob(sigmas), atol=1e-12)


def test_loop_identity_of_gpl_on_three_objects():
    # With L(a|b,c) = log p(a,b,c) - log p(a,c,b): L(1|2,3) + L(2|3,1) + L(3|1,2) = 0.
    law = GeneralisedPlackettLuce(scores(9, 3, 3))

    def odds(a, b, c):
        return law.log_prob(torch.tensor([a, b, c])) - law.log_prob(torch.tensor([a, c, b]))

    assert (odds(0, 1, 2) + odds(1, 2, 0) + odds(2, 0, 1)).abs().max() < 1e-12


@pytest.mark.parametrize("n", [3, 4, 5])
def test_fair_inverse_riffle_inverts_the_riffle(n):
    group = all_permutations(n)
    reverse = InverseRiffle(torch.zeros(n, dtype=torch.float64)).log_prob(inverse(group))
    assert torch.allclose(reverse, Riffle(n).log_prob(group), atol=1e-12)
    # The identity sums n + 1 left sets; a single one would lose n / 2^n.
    assert float(reverse[0].exp()) == pytest.approx((n + 1) / 2**n, abs=1e-12)


@pytest.mark.parametrize("n", [2, 4])
def test_fair_slow_walks_are_inverted(n):
    group = all_permutations(n)
    flat = torch.zeros(n, dtype=torch.float64)
    insertion = InverseInsertion(flat).log_prob(inverse(group))
    assert torch.allclose(insertion, RandomInsertion(n).log_prob(group))
    tau = torch.tensor(math.log(n - 1.0), dtype=torch.float64)  # P(stay) = 1 / n
    swap = InverseTransposition(flat, tau).log_prob(inverse(group))
    assert torch.allclose(swap, RandomTransposition(n).log_prob(group))


def test_inverse_riffle_is_the_pile_procedure():
    """From the last object to the first, each goes on top of its pile; left pile on top."""
    n = 5
    log_phi = torch.nn.functional.logsigmoid(s := scores(n))
    log_not = torch.nn.functional.logsigmoid(-s)
    law = {}
    for code in range(2**n):
        left, right, log_p = [], [], 0.0
        for i in reversed(range(n)):
            to_left = code >> i & 1
            (left if to_left else right).insert(0, i)
            log_p += float(log_phi[i] if to_left else log_not[i])
        law[tuple(left + right)] = law.get(tuple(left + right), 0.0) + math.exp(log_p)
    for sigma, probability in law.items():
        found = float(InverseRiffle(s).log_prob(torch.tensor(sigma)).exp())
        assert found == pytest.approx(probability, rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [4, 6])
def test_gradients(family, n):
    make, _ = FAMILIES[family]
    parameters = scores(3, n, n, seed=2).requires_grad_()
    law = make(parameters.detach())
    sigma = law.sample(make_generator(0, "gradient"), (2,))
    assert torch.autograd.gradcheck(lambda x: make(x).log_prob(sigma), parameters)


@pytest.mark.parametrize("family", ["PL", "GPL"])
def test_extreme_logits_in_single_precision(family):
    n, lists = 100, 8
    make, _ = FAMILIES[family]
    wide = torch.empty(lists, n, n).uniform_(-128, 128, generator=make_generator(0, "wide"))
    sigma = random_permutations(lists, n=n, generator=make_generator(1, "wide"))
    narrow, double = wide.clone().requires_grad_(), wide.double().requires_grad_()
    exact = make(double).log_prob(sigma)
    found = make(narrow).log_prob(sigma)
    exact.sum().backward()
    found.sum().backward()
    assert torch.allclose(found.double(), exact, rtol=2e-6)
    assert torch.allclose(narrow.grad.double(), double.grad, atol=1e-4)
    # Half-precision scores are cast up before anything is summed.
    assert make(wide.bfloat16()).log_prob(sigma).dtype == torch.float32


def test_gradient_of_gpl_is_that_of_the_masked_matrix():
    n, lists = 40, 3
    matrix = scores(lists, n, n).requires_grad_()
    sigma = random_permutations(lists, n=n, generator=make_generator(3, "sigma"))
    weights = scores(lists, seed=4)
    (GeneralisedPlackettLuce(matrix).log_prob(sigma) * weights).sum().backward()
    fused, matrix.grad = matrix.grad, None
    gathered = matrix.gather(2, sigma[:, None].expand(lists, n, n))
    used = torch.ones(n, n, dtype=torch.bool).tril(-1)
    gathered = gathered.masked_fill(used, -math.inf)
    plain = (gathered.diagonal(dim1=1, dim2=2) - gathered.logsumexp(-1)).sum(-1)
    (plain * weights).sum().backward()
    assert torch.allclose(fused, matrix.grad, atol=1e-12)


def test_pinned_object():
    """-inf in row and column 1, off the diagonal, keeps the first object in place."""
    n = 5
    pinned = scores(2, n, n).float()
    pinned[:, 0, 1:] = pinned[:, 1:, 0] = -math.inf
    law = GeneralisedPlackettLuce(pinned.requires_grad_())
    group = all_permutations(n)
    log_p = law.log_prob(group[:, None])
    assert not log_p.isnan().any()
    assert torch.equal(log_p > -math.inf, (group[:, :1] == 0).expand(-1, 2))
    assert torch.allclose(log_p.exp().sum(0), torch.ones(2), atol=1e-5)
    inner = GeneralisedPlackettLuce(pinned[:, 1:, 1:])
    kept = group[group[:, 0] == 0]
    assert torch.allclose(law.log_prob(kept[:, None]), inner.log_prob(kept[:, None, 1:] - 1))
    law.log_prob(kept[:, None]).sum().backward()
    assert torch.isfinite(pinned.grad).all()


def test_a_point_mass_is_a_generalised_plackett_luce_law():
    point = torch.full((4, 4), -math.inf, dtype=torch.float64)
    target = torch.tensor([2, 0, 3, 1])
    point.scatter_(1, target[:, None], 0.0)
    law = GeneralisedPlackettLuce(point).log_prob(all_permutations(4)).exp()
    assert law.sum() == 1 and law.max() == 1
    assert torch.equal(all_permutations(4)[law.argmax()], target)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_host_synchronisation_and_shapes(family, monkeypatch):
    """Fake tensors have no values: reading one back would raise."""
    make, support = FAMILIES[family]
    # The form of sampling that a GPU takes; on CPU, looking at values stalls nothing.
    monkeypatch.setattr(generalised_sampling, "exponentials_are_plain", lambda scores: False)
    monkeypatch.setattr(base, "require", torch._assert_async)  # what it does on a GPU
    with FakeTensorMode():
        generator = torch.Generator()
        law = make(torch.randn(3, 4, 6, 6))
        assert law.sample(generator, (2,)).shape == (2, 3, 4, 6)
        assert law.greedy().shape == (3, 4, 6)
        found = law.beam(7, keep=5)
        kept = min(5, support(6))
        assert found.permutations.shape == (3, 4, kept, 6)
        assert found.log_probs.shape == (3, 4, kept)
        # Likelihoods may look at values on CPU, where that stalls nothing.
        elsewhere = make(torch.empty(3, 4, 6, 6, device="meta"))
        sigma = torch.empty(2, 3, 4, 6, dtype=torch.long, device="meta")
        assert elsewhere.log_prob(sigma).shape == (2, 3, 4)


@pytest.mark.parametrize("spread", [10.0, 650.0, 5000.0, math.inf])
def test_plackett_luce_for_any_spread_of_scores(spread):
    """Both cumulative sums, and their gradients, against sums in double precision."""
    s = torch.tensor([0.0, 1.0, 2.5, -1.0, 0.5])
    s[1:3] -= spread
    sigma = torch.tensor([[0, 3, 4, 2, 1], [4, 0, 3, 1, 2]])
    found = PlackettLuce(s.requires_grad_()).log_prob(sigma)
    if math.isinf(spread):
        assert not torch.isfinite(found).any()  # nothing is left to choose from: no law
        return
    ordered = s.detach().double()[sigma]
    rest = torch.stack([ordered[:, i:].logsumexp(-1) for i in range(5)], -1)
    # Rounding of float32 scores of this size.
    assert torch.allclose(found.double(), (ordered - rest).sum(-1), atol=1e-6 + 3e-7 * spread)
    found.sum().backward()
    assert torch.isfinite(s.grad).all() and abs(float(s.grad.sum())) < 1e-5 + 3e-7 * spread


def test_bad_scores_are_refused():
    with pytest.raises(ValueError, match="square"):
        GeneralisedPlackettLuce(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="object axes"):
        PlackettLuce(torch.zeros(3, 0))
    with pytest.raises(ValueError, match="tau"):
        InverseTransposition(torch.zeros(2, 3), torch.zeros(3))
    with pytest.raises(ValueError, match="two objects"):
        InverseTransposition(torch.zeros(2, 1), torch.zeros(2))
