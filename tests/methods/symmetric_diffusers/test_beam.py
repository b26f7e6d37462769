"""Beam searches against exhaustive enumeration."""

import math
import sys

import pytest
import torch

from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseInsertion,
    InverseRiffle,
    InverseTransposition,
    PlackettLuce,
)
from jumpbench.methods.symmetric_diffusers.sampler import hierarchical_beam
from jumpbench.processes.permutations import (
    all_permutations,
    compose,
    identity,
    is_permutation,
    lexicographic_rank,
)
from jumpbench.seeding import make_generator

FAMILIES = {
    "PL": lambda s: PlackettLuce(s[..., 0]),
    "GPL": GeneralisedPlackettLuce,
    "IRS": lambda s: InverseRiffle(s[..., 0]),
    "IT": lambda s: InverseTransposition(s[..., 0], s[..., 0, 0]),
    "II": lambda s: InverseInsertion(s[..., 0]),
}


def scores(*shape, seed=0):
    generator = make_generator(seed, "beam")
    return 2 * torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_wide_beam_ranks_the_whole_support(family, n):
    if family == "IT" and n == 1:
        pytest.skip("no transposition of one object")
    law = FAMILIES[family](scores(7, n, n))
    log_p = law.log_prob(all_permutations(n)[:, None]).T.sort(-1, descending=True).values
    found = law.beam(200)
    width = found.log_probs.shape[-1]
    assert width == int((log_p > -math.inf).sum(-1).max())
    assert torch.allclose(found.log_probs, log_p[:, :width], atol=1e-12)
    again = law.log_prob(found.permutations.transpose(0, 1)).T
    assert torch.allclose(again, found.log_probs, atol=1e-12)
    ranks = lexicographic_rank(found.permutations)
    assert all(len(set(row)) == width for row in ranks.tolist())


def test_beam_finds_the_mode_that_greedy_misses():
    law = GeneralisedPlackettLuce(scores(300, 4, 4))
    mode = law.log_prob(all_permutations(4)[:, None]).amax(0)
    assert torch.allclose(law.beam(24, keep=1).log_probs[:, 0], mode, atol=1e-12)
    missed = int((law.log_prob(law.greedy()) < mode - 1e-9).sum())
    assert 15 <= missed <= 50  # 31 of another 300 such matrices


@pytest.mark.parametrize("family", ["PL", "GPL", "II"])
def test_a_beam_of_one_is_greedy(family):
    law = FAMILIES[family](scores(50, 12, 12))
    assert torch.equal(law.beam(1).permutations[:, 0], law.greedy())


def test_narrow_beam_is_the_textbook_search():
    """Prefixes as Python lists, best extensions per hypothesis first, then the joint best."""
    n, width = 6, 4
    matrix = scores(n, n, seed=5)
    beam = [((), 0.0)]
    for row in matrix:
        extended = []
        for prefix, total in beam:
            left = [j for j in range(n) if j not in prefix]
            log_p = row[left].log_softmax(-1).tolist()
            best = sorted(zip(log_p, left, strict=True), reverse=True)[:width]
            extended += [((*prefix, j), total + value) for value, j in best]
        beam = sorted(extended, key=lambda pair: -pair[1])[:width]
    found = GeneralisedPlackettLuce(matrix).beam(width)
    assert found.permutations.tolist() == [list(prefix) for prefix, _ in beam]
    assert found.log_probs.tolist() == pytest.approx([total for _, total in beam])


def test_chunks_do_not_change_the_result(monkeypatch):
    matrix = scores(9, 8, 8, seed=6)
    whole = GeneralisedPlackettLuce(matrix).beam(10)
    module = "jumpbench.methods.symmetric_diffusers.distributions.inner_beam"
    monkeypatch.setattr(sys.modules[module], "CPU_CHUNK", 100)
    parts = GeneralisedPlackettLuce(matrix).beam(10)
    assert torch.equal(whole.permutations, parts.permutations)
    assert torch.equal(whole.log_probs, parts.log_probs)


def test_pinned_object_in_the_beam():
    matrix = scores(3, 4, 4)
    matrix[:, 0, 1:] = matrix[:, 1:, 0] = -math.inf
    law = GeneralisedPlackettLuce(matrix)
    found = law.beam(10)
    assert is_permutation(found.permutations).all()
    assert (found.permutations[..., 0] == 0).all()
    alive = found.log_probs > -math.inf
    assert (alive.sum(-1) == 6).all()  # 3! of the 10 asked for; the rest repeats the best
    dead = found.permutations[~alive].view(3, 4, 4)
    assert torch.equal(dead, found.permutations[:, :1].expand(3, 4, 4))


def tabular(n, seed):
    """A reverse chain on S_n with its own score matrix for every (list, state, time)."""
    tables = {time: scores(2, math.factorial(n), n, n, seed=seed + time) for time in (2, 5, 9)}

    def law(permutations, time):
        rows = lexicographic_rank(permutations)
        lists = torch.arange(2).unsqueeze(-1)
        return GeneralisedPlackettLuce(tables[time][lists, rows])

    return law


def trajectories(law, n, schedule):
    """Log-probabilities of all n!^k trajectories from the identity, with their final states."""
    group = all_permutations(n)
    states, totals = identity(2, 1, n=n), torch.zeros(2, 1, dtype=torch.float64)
    for time in reversed(schedule[1:]):
        steps = law(states, time).log_prob(group[:, None, None]).movedim(0, -1)
        totals = (totals[..., None] + steps).flatten(1)
        states = compose(states.unsqueeze(2), group).flatten(1, 2)
    return totals, states


def test_hierarchical_beam_against_all_trajectories():
    n, schedule = 3, [0, 2, 5]
    law = tabular(n, seed=10)
    totals, states = trajectories(law, n, schedule)
    best, index = totals.topk(6, dim=1)
    found = hierarchical_beam(law, schedule, identity(2, 1, n=n), inner=6, outer=6)
    assert torch.allclose(found.log_probs.double(), best, atol=1e-5)
    expected = states.gather(1, index.unsqueeze(-1).expand(-1, -1, n))
    assert torch.equal(found.permutations, expected)


def test_hierarchical_beam_never_claims_more_than_the_best_trajectory():
    n, schedule = 3, [0, 2, 5, 9]
    law = tabular(n, seed=20)
    totals, _ = trajectories(law, n, schedule)
    for inner, outer in ((1, 1), (2, 2), (4, 2), (6, 6)):
        found = hierarchical_beam(law, schedule, identity(2, 1, n=n), inner, outer)
        assert found.permutations.shape == (2, outer, n)
        assert (found.log_probs.diff(dim=1) <= 0).all()
        assert (found.log_probs[:, 0] <= totals.amax(1) + 1e-5).all()


def test_one_hypothesis_is_greedy_decoding():
    n, schedule = 3, [0, 2, 5, 9]
    law = tabular(n, seed=30)
    state = identity(2, 1, n=n)
    for time in (9, 5, 2):
        state = compose(state, law(state, time).greedy())
    found = hierarchical_beam(law, schedule, identity(2, 1, n=n), inner=1, outer=1)
    assert torch.equal(found.permutations, state)


def test_bad_widths_and_schedules_are_refused():
    law = tabular(3, seed=0)
    with pytest.raises(ValueError, match="outer <= inner"):
        hierarchical_beam(law, [0, 2], identity(2, 1, n=3), inner=2, outer=3)
    with pytest.raises(ValueError, match="schedule"):
        hierarchical_beam(law, [2, 5], identity(2, 1, n=3), inner=2, outer=2)
    with pytest.raises(ValueError, match="keep"):
        law(identity(2, 1, n=3), 2).beam(3, keep=4)
