"""Long loops are priced by short ones: as if they had been gone through."""

from dataclasses import asdict

import pytest

from jumpbench.tables.planning.plan import plan_run
from jumpbench.tables.price import long_loops
from jumpbench.tables.price.ledger import TooLong
from jumpbench.tables.price.long_loops import counted, interpolated
from jumpbench.tables.price.operators import Work
from jumpbench.tables.price.passes import Count, count

LOOPS = (
    "data.n_samples=10", "method.sampler.n_iterations=40",
    "method.sampler.likelihood_step.n_proposals=48",
)  # fmt: skip


def test_nested_loops_are_multilinear_in_their_lengths():
    def at(lengths):
        a, b = lengths[("a",)], lengths[("b",)]
        work = Work(flops=3.0 + 5 * a * (2 + 7 * b), operators=a)
        return Count(asdict(work), 0.0, {"weights": a / b})

    found = interpolated({("a",): 300, ("b",): 1000}, at)
    assert found.work["flops"] == pytest.approx(3 + 5 * 300 * 7002)
    assert found.work["operators"] == pytest.approx(300) and found.memory == {"weights": 2.0}


@pytest.mark.slow
def test_a_gibbs_sampler_by_short_loops_is_the_same_gone_through():
    config = plan_run("sgdd/table2", LOOPS).placed()
    whole = count(config).work
    loops = {place: n for place, n in long_loops._loops(config["method"]) if n > 32}
    assert sorted(loops.values()) == [40, 48]
    short = interpolated(loops, lambda lengths: count(long_loops._with(config, lengths))).work
    assert whole["operators"] > 5000
    for kind in ("operators", "bytes", "random", "gathered"):
        assert short[kind] == pytest.approx(whole[kind], rel=0.02), kind


@pytest.fixture
def fake(monkeypatch):
    """Counts whose bytes are the rounds of two nested loops, up to a limit; what was counted."""
    seen, limit = [], [64_000]

    def count(config, seconds):
        lengths = config["method"]["n_steps"], config["method"]["inner"]["n_proposals"]
        seen.append(lengths)
        if lengths[0] * lengths[1] > limit[0]:
            raise TooLong
        return Count(asdict(Work(bytes=lengths[0] * lengths[1])), 0.0, {})

    monkeypatch.setattr(long_loops, "count", count)
    long_loops._kept.cache_clear()
    yield seen, limit
    long_loops._kept.cache_clear()


def nested(steps, proposals):
    return {"method": {"n_steps": steps, "inner": {"n_proposals": proposals, "width": 99}}}


def test_loops_are_shortened_only_where_all_of_it_takes_too_long(fake):
    seen, limit = fake
    assert counted(nested(250, 64)).work["bytes"] == 16_000 and seen == [(250, 64)]
    limit[0] = 1000
    assert counted(nested(250, 64)).work["bytes"] == pytest.approx(16_000) and len(seen) == 6
    limit[0] = 10
    long_loops._kept.cache_clear()
    with pytest.raises(TooLong):
        counted(nested(250, 64))
    with pytest.raises(TooLong):
        counted(nested(20, 20))


def test_runs_with_other_lengths_of_long_loops_share_their_counts(fake):
    seen, _ = fake
    for steps, proposals in ((1000, 5000), (200, 5000), (2000, 300)):
        found = counted(nested(steps, proposals)).work["bytes"]
        assert found == pytest.approx(steps * proposals)
    assert sorted(seen) == [(8, 8), (8, 16), (16, 8), (16, 16)]
