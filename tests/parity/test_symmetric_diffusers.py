"""SymmetricDiffusers' laws of reverse steps and forward shuffles against its release, in float64.

sigma takes the state x_t to x_(t-1) = x_t[sigma].
"""

import pytest
import torch

from jumpbench.methods.symmetric_diffusers.distributions import (
    GeneralisedPlackettLuce,
    InverseInsertion,
    InverseRiffle,
    InverseTransposition,
    PlackettLuce,
)
from jumpbench.processes.permutations import all_permutations, compose, lexicographic_rank
from jumpbench.processes.shuffles import RandomInsertion, RandomTransposition, Riffle
from jumpbench.processes.shuffles.riffle import a_shuffle, riffle
from parity.arrays import agree, arrays

CASES = {
    "gpl": GeneralisedPlackettLuce,
    "gpl_wide": GeneralisedPlackettLuce,
    "gpl_long": GeneralisedPlackettLuce,
    "gpl_long_wide": GeneralisedPlackettLuce,
    "pl": PlackettLuce,
    "pl_wide": PlackettLuce,
    "insertion": InverseInsertion,
    "riffle": InverseRiffle,
    "transposition": InverseTransposition,
}


def law_of(family, stored):
    """The law at stored scores; the release's logit is of staying, our tau of leaving."""
    if family is InverseTransposition:
        return family(stored["scores"], -stored["logit_unchanged"])
    return family(stored["scores"])


@pytest.mark.parametrize("name", CASES)
def test_log_probabilities_and_their_gradients(name):
    stored = arrays("symmetric_diffusers", f"{name}.")
    learned = [key for key in ("scores", "logit_unchanged") if key in stored]
    for key in learned:
        stored[key].requires_grad_()
    log_prob = law_of(CASES[name], stored).log_prob(stored["sigma"])
    agree(log_prob, stored["log_prob"], 1e-11)
    possible = stored["log_prob"] > -torch.inf
    assert possible.any()
    probed = (stored["probe"] * log_prob)[possible].sum()
    gradients = torch.autograd.grad(probed, [stored[key] for key in learned])
    for key, ours in zip(learned, gradients, strict=True):
        agree(ours, stored[f"{key}_gradient"], 1e-11)


@pytest.mark.parametrize("name", ["insertion", "riffle", "transposition"])
def test_nothing_but_the_stored_permutations_is_possible(name):
    """Their probabilities add up to one. A 3-cycle is stored as well, and no transposition."""
    stored = arrays("symmetric_diffusers", f"{name}.")
    total = stored["log_prob"].exp().sum(0)
    agree(total, torch.ones_like(total), 1e-12)
    possible = (stored["log_prob"] > -torch.inf).all(1)
    assert (~possible).sum() == (name == "transposition")
    everything = all_permutations(6)
    ours = law_of(CASES[name], stored).log_prob(everything.unsqueeze(1)) > -torch.inf
    inside = torch.zeros(len(everything), dtype=torch.bool)
    inside[lexicographic_rank(stored["sigma"][possible, 0])] = True
    assert torch.equal(ours, inside[:, None].expand_as(ours))


def test_left_sets_of_a_riffle():
    """The release gives the sets {k+1..n} the identity's probability and {1..k} that of one set,
    0 < k < n. These 10 of 64 are errors there: all {1..k} are the identity, no {k+1..n} is."""
    stored = arrays("symmetric_diffusers", "riffle.")
    left, n = stored["left"], stored["left"].shape[1]
    sizes, places = left.sum(1, keepdim=True), torch.arange(n)
    inner = (sizes[:, 0] > 0) & (sizes[:, 0] < n)
    first = (left == (places < sizes)).all(1) & inner
    last = (left == (places >= n - sizes)).all(1) & inner
    assert first.sum() == last.sum() == n - 1
    law = InverseRiffle(stored["scores"])
    ours = law.log_prob(stored["left_sigma"].unsqueeze(1))
    theirs, right = stored["left_log_prob"], ~(first | last)
    agree(ours[right], theirs[right], 1e-13)
    identity = law.log_prob(places)
    agree(theirs[last], identity.expand(n - 1, -1), 1e-13)
    agree(ours[first], identity.expand(n - 1, -1), 1e-13)
    scores = stored["scores"]
    one_set = torch.where(left[:, None], scores, -scores).sigmoid().log().sum(-1)
    agree(theirs[first], one_set[first], 1e-12)
    agree(ours[last], one_set[last], 1e-12)


@pytest.mark.parametrize(
    "name, shuffle", [("swap", RandomTransposition(6)), ("insert", RandomInsertion(6))]
)
def test_forward_step_at_the_recorded_draw(name, shuffle, monkeypatch):
    stored = arrays("symmetric_diffusers", f"forward.{name}.")
    gumbel = -stored["u"].log().neg().log()
    assert torch.equal(gumbel.argmax(-1), stored["index"])
    monkeypatch.setattr(torch, "randint", lambda *bounds, **settings: stored["index"].unsqueeze(0))
    sigma = shuffle.sample(3, 4, generator=torch.Generator())
    assert torch.equal(compose(stored["before"], sigma), stored["after"])


@pytest.mark.parametrize("piles", [2, 4, 64])
def test_riffles_at_the_recorded_draw(piles):
    """Theirs: the order of the fractions of ``piles`` times sorted uniforms."""
    stored = arrays("symmetric_diffusers", f"forward.riffle{piles}.")
    scaled = piles * stored["u"].sort(-1).values
    assert torch.equal((scaled % 1).argsort(-1), stored["perm"])
    digits = scaled.floor().long().gather(-1, stored["perm"])
    for ours in [a_shuffle(digits)] + [riffle(digits)] * (piles == 2):
        assert torch.equal(ours, stored["perm"])
        assert torch.equal(compose(stored["before"], ours), stored["after"])


def test_law_of_several_riffles():
    stored = arrays("symmetric_diffusers", "law.")
    for steps in (1, 2, 3, 6):
        ours = Riffle(9).log_prob(stored["perm"], steps)
        agree(ours, stored[f"log_prob_{steps}"], 1e-12)
    agree(Riffle(9).log_prob(stored["perm"]), stored["log_prob_one_step"], 1e-12)
