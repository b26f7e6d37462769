import itertools

import pytest
import torch

from jumpbench.samplers.mcmc.metropolis import (
    MultiSiteMetropolis,
    SingleSiteMetropolis,
    single_site_metropolis,
)
from jumpbench.targets.changes import LogProbDelta, at_site
from jumpbench.targets.tabular import Tabular


def uniform_proposal(target, n_sites):
    """Matrix of: n_sites distinct sites chosen uniformly, each given a uniform token."""
    size = len(target.states)
    matrix = torch.zeros(size, size, dtype=torch.float64)
    choices = list(itertools.combinations(range(target.length), n_sites))
    weight = 1 / (len(choices) * target.n_states**n_sites)
    for i, sites in itertools.product(range(size), choices):
        for tokens in itertools.product(range(target.n_states), repeat=n_sites):
            y = target.states[i].clone()
            y[list(sites)] = torch.tensor(tokens)
            matrix[i, target.index(y)] += weight
    return matrix


@pytest.mark.parametrize("n_steps", [1, 3])
@pytest.mark.parametrize("dtype", [torch.long, torch.uint8])
def test_single_site_follows_its_matrix(enumerated, rng, n_steps, dtype):
    target = enumerated()
    matrix = target.accept(uniform_proposal(target, 1))
    target.assert_reversible(matrix)

    def kernel(x, steps):
        x, info = single_site_metropolis(target.delta, x.to(dtype), steps, 3, rng, block=2)
        assert x.dtype == dtype
        return x, info

    target.assert_follows(kernel, matrix, n_steps)


@pytest.mark.parametrize("n_sites", [1, 2])
def test_multi_site_with_a_cached_log_prob_follows_its_matrix(enumerated, rng, n_sites):
    target = enumerated(length=3, n_states=2)
    matrix = target.accept(uniform_proposal(target, n_sites))
    target.assert_reversible(matrix)

    target.assert_follows(lambda x, n: MultiSiteMetropolis(n_sites)(target, x, n, rng), matrix, 3)


def test_cached_log_prob_in_the_single_site_kernel(enumerated, rng):
    target = enumerated()
    matrix = target.accept(uniform_proposal(target, 1))

    def kernel(x, steps):
        delta = LogProbDelta(target.log_prob, x)
        x, info = single_site_metropolis(delta, x, steps, 3, rng, commit=delta.commit)
        torch.testing.assert_close(delta.current, target.log_prob(x), rtol=0, atol=1e-12)
        return x, info

    target.assert_follows(kernel, matrix, 4)
    target.assert_follows(lambda x, n: SingleSiteMetropolis()(target, x, n, rng), matrix, 4)


def test_a_flat_target_accepts_everything_and_forbidden_moves_never_happen(rng):
    x = torch.randint(4, (200, 6), generator=rng)
    before = x.clone()
    flat, info = single_site_metropolis(lambda x, site, token: torch.zeros(200), x, 21, 4, rng)
    assert (info.acceptance == 1).all()
    assert info.energy_evaluations == 22
    assert info.sequential_steps == 21
    assert not torch.equal(flat, x)
    for value in (-torch.inf, torch.nan):
        same, info = single_site_metropolis(
            lambda x, site, token, value=value: torch.full((200,), value), x, 21, 4, rng
        )
        assert torch.equal(same, x)
        assert (info.acceptance == 0).all()
    assert torch.equal(x, before)


def test_no_steps_and_bad_sizes(rng):
    x = torch.zeros(3, 2, dtype=torch.long)
    same, info = single_site_metropolis(lambda *_: torch.zeros(3), x, 0, 4, rng)
    assert torch.equal(same, x)
    assert info.acceptance.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="n_sites is 3"):
        MultiSiteMetropolis(3)(Tabular(torch.zeros(4, 4)), x, 1, rng)


def test_proposals_are_uniform_and_independent_at_uneven_sizes(rng):
    """Each (site, token) within 5 standard errors, 80000 proposals; never out of range."""
    length, n_states, chains, steps = 7, 11, 10_000, 8
    seen = torch.zeros(length * n_states, dtype=torch.long)

    def delta(x, site, token):
        assert site.max() < length and token.max() < n_states and site.min() >= 0
        seen.add_(torch.bincount(site * n_states + token, minlength=length * n_states))
        return torch.full((chains,), -torch.inf)

    x = torch.zeros(chains, length, dtype=torch.long)
    single_site_metropolis(delta, x, steps, n_states, rng)
    p = 1 / (length * n_states)
    spread = (p * (1 - p) / (chains * steps)) ** 0.5
    assert ((seen / (chains * steps) - p).abs() < 5 * spread).all()


def test_same_generator_same_chain(enumerated):
    target = enumerated()
    ends = [
        single_site_metropolis(target.delta, target.states, 50, 3, torch.Generator().manual_seed(7))
        for _ in range(2)
    ]
    assert torch.equal(ends[0][0], ends[1][0])


def test_at_site_reads_one_symbol_per_chain(rng):
    x = torch.randint(9, (5, 4), generator=rng)
    site = torch.tensor([0, 3, 1, 2, 3])
    assert torch.equal(at_site(x, site), x.gather(1, site[:, None])[:, 0])


@pytest.mark.parametrize("bits", [0, 2**63 - 1])
def test_the_acceptance_uniform_meets_neither_end(bits, monkeypatch):
    """All random bits 0: a move of log-ratio -30 would pass a uniform of 0. All 1: 0 must pass."""
    monkeypatch.setattr(torch.Tensor, "random_", lambda self, generator=None: self.fill_(bits))
    x = torch.ones(5, 3, dtype=torch.long)

    def accepted(log_ratio):
        return single_site_metropolis(lambda *_: torch.full((5,), log_ratio), x, 4, 3)[1].acceptance

    assert (accepted(-30.0) == 0).all()
    assert (accepted(0.0) == 1).all()


def test_an_energy_that_is_nan_is_an_error():
    class Broken(Tabular):
        def log_prob(self, x):
            return torch.where(x[:, 0] == 0, 0.0, torch.nan)

    target, x = Broken(torch.zeros(3, 3)), torch.zeros(4, 2, dtype=torch.long)
    with pytest.raises(ValueError, match="log_prob is NaN"):
        SingleSiteMetropolis()(target, x, 50, torch.Generator().manual_seed(0))


def test_impossible_states_are_never_entered_and_are_left(rng):
    """-inf at five of nine states; chains that start there leave them for good."""
    table = torch.full((3, 3), -torch.inf)
    table[0], table[1, 1] = torch.tensor([0.0, 1.0, 0.5]), 0.3
    target = Tabular(table)
    start = torch.cartesian_prod(torch.arange(3), torch.arange(3)).repeat(50, 1)
    x, _ = SingleSiteMetropolis()(target, start, 200, rng)
    assert target.log_prob(x).isfinite().all()


def test_a_delta_may_prepare_a_block_of_proposals(enumerated):
    """Prepared or asked step by step: the same chain; ``old`` is the symbol at the site."""
    target = enumerated()

    class Prepared:
        calls = 0

        def __call__(self, x, site, token):
            raise AssertionError("asked step by step")

        def block(self, sites, tokens, indices):
            self.calls += 1
            assert torch.equal(indices, sites + target.length * torch.arange(len(sites[0])))

            def step(k, x, old):
                assert torch.equal(old, at_site(x, sites[k]))
                return target.delta(x, sites[k], tokens[k])

            return step

    prepared, x = Prepared(), target.states
    ends = [
        single_site_metropolis(delta, x, 21, 3, torch.Generator().manual_seed(0))
        for delta in (prepared, target.delta)
    ]
    assert torch.equal(ends[0][0], ends[1][0])
    assert prepared.calls == 3
