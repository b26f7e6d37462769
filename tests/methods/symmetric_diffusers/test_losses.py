"""Transitions, label and latent losses against enumeration and limits."""

import math

import pytest
import torch

from jumpbench.methods.symmetric_diffusers.distributions import GeneralisedPlackettLuce
from jumpbench.methods.symmetric_diffusers.losses import (
    LabelLoss,
    LatentLoss,
    squared_distances,
    transition_distances,
)
from jumpbench.methods.symmetric_diffusers.transitions import RandomTimestep, WholeTrajectories
from jumpbench.processes.permutations import (
    all_permutations,
    apply,
    compose,
    lexicographic_rank,
)
from jumpbench.processes.shuffles import RandomInsertion, RandomTransposition, Riffle
from oracles import generator


@pytest.mark.parametrize("shuffle", [Riffle, RandomTransposition, RandomInsertion])
def test_every_step_is_undone_and_all_steps_give_the_identity(shuffle):
    """Oracle 14, for whole trajectories: step by step, and composed."""
    schedule, n, lists, count = [0, 1, 3, 6], 7, 5, 2
    moved = WholeTrajectories(count)(shuffle(n), schedule, lists, generator())
    assert moved.later.shape == (3 * count, lists, n) and moved.times.shape == (3 * count, lists)
    assert torch.equal(compose(moved.later, moved.target), moved.earlier)
    objects = torch.randn(3 * count, lists, n, 2)
    later = apply(moved.later, objects)
    assert torch.equal(apply(moved.target, later), apply(moved.earlier, objects))
    steps = moved.target.view(3, count, lists, n)
    state = moved.later.view(3, count, lists, n)[-1]
    for step in reversed(range(3)):
        state = compose(state, steps[step])
    assert torch.equal(state, torch.arange(n).expand_as(state))
    assert moved.times.view(3, count, lists)[:, 0, 0].tolist() == [1, 3, 6]


def test_a_random_timestep_has_the_law_of_the_trajectory():
    """Its transitions at time t_i are those of a trajectory: same law of (later, earlier)."""
    schedule, n, lists = [0, 1, 2], 3, 60000
    moved = RandomTimestep()(Riffle(n), schedule, lists, generator())
    assert torch.equal(compose(moved.later, moved.target), moved.earlier)
    first = moved.times[0] == 1
    # Binomial share of one half: standard error 0.5 / sqrt(60000) = 0.002
    assert abs(first.float().mean() - 0.5) < 0.01
    assert (moved.earlier[0][first] == torch.arange(n)).all()
    for time in (1, 2):
        law = Riffle(n).log_prob(all_permutations(n), steps=time).exp()
        drawn = lexicographic_rank(moved.later[0][moved.times[0] == time])
        share = drawn.bincount(minlength=6) / len(drawn)
        assert (share - law).abs().max() < 5 * 0.5 / math.sqrt(len(drawn))


def test_label_loss_is_the_mean_negative_log_likelihood():
    scores = torch.randn(6, 4, 4, generator=generator())
    law = GeneralisedPlackettLuce(scores)
    target = torch.stack([torch.randperm(4, generator=generator(i)) for i in range(6)])
    by_hand = 0.0
    for s, p in zip(scores, target, strict=True):
        for i in range(4):
            by_hand -= s[i, p[i]] - s[i, p[i:]].logsumexp(0)
    torch.testing.assert_close(LabelLoss()(law, target), by_hand / 6)


def test_distances_of_a_transition_are_those_of_its_lists():
    objects = torch.randn(3, 5, 1, 4, 4, generator=generator())
    moved = WholeTrajectories(2)(Riffle(5), [0, 2, 5], 3, generator())
    distances = transition_distances(squared_distances(objects), moved.earlier, moved.later)
    spread = objects.expand(4, *objects.shape)
    earlier, later = (apply(p, spread).flatten(3) for p in (moved.earlier, moved.later))
    expected = (earlier.unsqueeze(3) - later.unsqueeze(2)).square().sum(-1)
    torch.testing.assert_close(distances, expected)
    # A true step puts every object where it was: l = 0
    fit = distances.gather(-1, moved.target.unsqueeze(-1)).sum((-1, -2))
    assert (fit == 0).all()


def latent(samples, distances, scores, entropy=0.05, seed=0):
    loss = LatentLoss(samples, entropy)
    law = GeneralisedPlackettLuce(scores)
    value = loss(law, torch.empty(0), distances, generator(seed))
    drawn = GeneralisedPlackettLuce(scores.detach()).sample(generator(seed), (samples,))
    return value, drawn, loss


def test_latent_loss_with_one_sample():
    """Oracle 18: the weight is 1, v = 1 - lambda log p, and the baseline has just seen v."""
    scores = torch.randn(3, 4, 4, generator=generator(), requires_grad=True)
    value, drawn, loss = latent(1, torch.rand(3, 4, 4, generator=generator(1)), scores)
    log_p = GeneralisedPlackettLuce(scores).log_prob(drawn[0])
    v = 1 - 0.05 * log_p.detach()
    assert loss.baseline.item() == pytest.approx(0.005 * v.mean().item(), rel=1e-5)
    torch.testing.assert_close(value, -((v - loss.baseline) * log_p).mean())


def test_latent_weights_are_those_of_a_unit_gaussian():
    """w_m proportional to exp(-1/2 sum_i distance[i, sigma_m(i)]), for distances of order one."""
    scores = torch.randn(2, 4, 4, generator=generator())
    distances = 4 * torch.rand(2, 4, 4, generator=generator(1))
    value, drawn, _ = latent(6, distances, scores, entropy=0.0)
    fit = torch.zeros(6, 2)
    for m in range(6):
        for b in range(2):
            for i in range(4):
                fit[m, b] += distances[b, i, drawn[m, b, i]]
    weights = (-0.5 * fit).exp() / (-0.5 * fit).exp().sum(0)
    assert (weights.amax(0) - weights.amin(0)).min() > 0.1  # far from equal, far from one-hot
    log_p = GeneralisedPlackettLuce(scores).log_prob(drawn)
    expected = -((weights - 0.005 * weights.mean()) * log_p).sum(0).mean()
    torch.testing.assert_close(value, expected)


def test_latent_loss_when_all_pixels_are_equal():
    """Oracle 18: the weights are 1 / N whatever is drawn."""
    scores = torch.randn(2, 4, 4, generator=generator())
    value, drawn, loss = latent(5, torch.zeros(2, 4, 4), scores, entropy=0.0)
    assert loss.baseline.item() == pytest.approx(0.005 / 5, rel=1e-5)
    log_p = GeneralisedPlackettLuce(scores).log_prob(drawn)
    torch.testing.assert_close(value, -((0.2 - loss.baseline) * log_p).sum(0).mean())


def test_latent_gradient_tends_to_the_label_gradient_for_large_pixels():
    """Oracle 18: with a large pixel scale all weight lies on exact draws.

    Without entropy and baseline, a step with at least one exact draw then has the gradient of the
    label loss itself: the weights of the exact draws, however many, sum to one.
    """
    n = 3
    scores = torch.randn(1, n, n, generator=generator(3), requires_grad=True)
    target = torch.tensor([[2, 0, 1]])
    places = torch.arange(n).float()
    # Object at later position target[i] is the one wanted at i; far apart in pixels
    later = torch.empty(n).scatter_(0, target[0], 100 * places)
    distances = (100 * places[:, None] - later[None]).square().unsqueeze(0)
    loss = LatentLoss(10, entropy=0.0)
    loss.eval()  # the baseline stays 0
    (label,) = torch.autograd.grad(LabelLoss()(GeneralisedPlackettLuce(scores), target), scores)
    hits = 0
    for seed in range(40):
        law = GeneralisedPlackettLuce(scores)
        drawn = law.sample(generator(seed), (10,))
        (found,) = torch.autograd.grad(
            loss(law, torch.empty(0), distances, generator(seed)), scores
        )
        if (drawn[:, 0] == target[0]).all(-1).any():
            torch.testing.assert_close(found, label, rtol=1e-4, atol=1e-5)
            hits += 1
    assert hits > 10


def test_the_baseline_is_state_and_rests_outside_training():
    loss = LatentLoss(2)
    law = GeneralisedPlackettLuce(torch.randn(2, 3, 3, generator=generator()))
    loss(law, torch.empty(0), torch.rand(2, 3, 3), generator())
    assert loss.state_dict()["baseline"] != 0
    before = loss.baseline.clone()
    loss.eval()
    loss(law, torch.empty(0), torch.rand(2, 3, 3), generator())
    assert torch.equal(loss.baseline, before)


def test_bad_settings():
    with pytest.raises(ValueError, match="count=0"):
        WholeTrajectories(0)
    with pytest.raises(ValueError, match="samples=0"):
        LatentLoss(0)
