"""Matching targets against an enumerated bridge: the identities hold, and wrong shifts do not."""

import pytest
import torch
from torch import nn

from jumpbench.methods.dasbs.bridge import Pairs
from jumpbench.methods.dasbs.losses import bregman, weighted_mean
from jumpbench.methods.dasbs.matcher import Matcher
from jumpbench.methods.dasbs.matching import (
    AdjointMatching,
    DenoisingMatching,
    adjoint_log_target,
    denoising_log_target,
)
from jumpbench.processes.base import is_symbol
from jumpbench.processes.schedules import Constant, ModifiedLogLinear
from jumpbench.targets.potts import Potts

T = 0.4


def matcher(matching, times):
    """A matcher whose own network is never asked."""
    return Matcher(2, 3, lambda **_: nn.Identity(), torch.optim.SGD, matching, times=times)


def averaged(log_target, law, at):
    """E[target] for every ``at``: (S, S', D, N) targets, (S, S') conditional law of the pole."""
    mean = (law[..., None, None] * log_target.exp()).sum(1)
    return mean.masked_fill(is_symbol(at, mean.shape[-1]), 1.0)


def all_pairs(bridge):
    """Every state beside every pole: ``at`` (S, 1, D), ``pole`` (S, S', D)."""
    states = bridge.states
    return states.unsqueeze(1), states.expand(len(states), -1, -1)


def end_law(bridge):
    """p*_{1|t}(x_1 | x), (S, S')."""
    return bridge.kernel(T, 1.0) * bridge.phi_1 / bridge.phi(T)[:, None]


def test_the_potentials_solve_the_bridge(bridge):
    torch.testing.assert_close(bridge.phi(0.0) * bridge.phihat_0, bridge.mu)
    torch.testing.assert_close(bridge.phi_1 * bridge.phihat(1.0), bridge.nu)


def test_controller_adjoint_identity_and_its_wrong_shifts(bridge):
    at, pole = all_pairs(bridge)
    ratios = bridge.log_ratios(bridge.phi_1).expand(9, -1, -1, -1)
    expected = bridge.log_ratios(bridge.phi(T)).exp()
    law = end_law(bridge)
    found = averaged(adjoint_log_target(ratios, pole, at), law, bridge.states)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)

    symbols = torch.arange(3)
    reversed_shift = ratios.gather(-1, (pole[..., None] - symbols + at[..., None]) % 3)
    no_shift = ratios
    for wrong in (reversed_shift, no_shift):
        error = (averaged(wrong, law, bridge.states) - expected).abs().max()
        assert error > 0.3


def test_controller_denoising_identity(bridge):
    at, pole = all_pairs(bridge)
    log_odds = bridge.reference.log_odds(torch.full((9, 9), T, dtype=torch.float64))
    found = averaged(
        denoising_log_target(log_odds, pole, at.expand_as(pole), 3), end_law(bridge), bridge.states
    )
    expected = bridge.log_ratios(bridge.phi(T)).exp()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_corrector_identities(bridge):
    at, pole = all_pairs(bridge)
    end = bridge.phihat(1.0)
    expected = bridge.log_ratios(end).exp()
    start_law = (bridge.phihat_0[:, None] * bridge.kernel(0.0, 1.0) / end).T
    ratios = bridge.log_ratios(bridge.phihat_0).expand(9, -1, -1, -1)
    found = averaged(adjoint_log_target(ratios, pole, at), start_law, bridge.states)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)

    inner_law = (bridge.phihat(T)[:, None] * bridge.kernel(T, 1.0) / end).T
    log_odds = bridge.reference.log_odds(torch.full((9, 9), T, dtype=torch.float64))
    target = denoising_log_target(log_odds, pole, at.expand_as(pole), 3)
    found = averaged(target, inner_law, bridge.states)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_gathered_target_is_the_ratio_at_the_shifted_state():
    target = Potts(3, 4, beta=0.7, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    x_t, x_1 = torch.randint(4, (2, 50, 1, 9), generator=generator)
    table = target.neighbor_log_ratios(x_1)
    found = adjoint_log_target(table, x_1, x_t)
    for d in range(9):
        for n in range(4):
            shifted = x_1.clone()
            shifted[..., d] = (x_1[..., d] + n - x_t[..., d]) % 4
            expected = target.log_prob(shifted) - target.log_prob(x_1)
            torch.testing.assert_close(found[..., d, n], expected, rtol=0, atol=1e-12)


def test_bregman_is_the_formula_without_the_current_symbol():
    generator = torch.Generator().manual_seed(1)
    log_a, log_b = torch.randn(2, 4, 5, 3, generator=generator)
    at = torch.randint(3, (4, 5), generator=generator)
    a, b = log_a.exp(), log_b.exp()
    terms = (a * (a / b).log() - a + b).masked_fill(is_symbol(at, 3), 0)
    torch.testing.assert_close(bregman(log_a, log_b, at), terms.sum((-2, -1)) / 15)
    wild = log_a.masked_fill(is_symbol(at, 3), float("inf"))
    assert torch.isfinite(bregman(wild, log_b, at)).all()


class TestLossesAtTheOptimum:
    """With log Phi* as output the loss has zero gradient; shifted outputs have a larger loss.

    The output is log Phi* + e * direction; the derivative at e = 0 of each pair's divergence is
    averaged over 60,000 exact pairs and compared with its standard error.
    """

    N_PAIRS = 60_000

    def pairs(self, bridge, generator):
        coupling = bridge.phihat_0[:, None] * bridge.kernel(0.0, 1.0) * bridge.phi_1
        drawn = torch.multinomial(coupling.flatten(), self.N_PAIRS, True, generator=generator)
        return Pairs(bridge.states[drawn // 9], bridge.states[drawn % 9])

    def z_score(self, divergence, amount):
        slope = torch.autograd.grad(divergence.sum(), amount)[0].squeeze(-1)
        return (slope.mean() / (slope.std() / len(slope) ** 0.5)).abs()

    def controller(self, bridge, matching, pairs, amount, generator):
        direction = torch.randn(9, 2, 3, generator=generator)

        def network(x, t):
            rows = bridge.index(x)
            table = bridge.log_ratios(bridge.phi(t.double()))
            exact = table[torch.arange(len(rows)), rows]
            return exact + amount.view(-1, 1, 1) * direction[rows]

        ratios = bridge.log_ratios(bridge.phi_1)
        return matcher(matching, 1).controller_divergence(
            network, pairs, lambda x: ratios[bridge.index(x)], bridge.reference, generator
        )

    def corrector(self, bridge, matching, pairs, amount, generator):
        direction = torch.randn(9, 2, 3, generator=generator)
        table = bridge.log_ratios(bridge.phihat(1.0))

        def network(x):
            rows = bridge.index(x)
            return table[rows] + amount.view(-1, 1, 1) * direction[rows]

        ratios = bridge.log_ratios(bridge.phihat_0)
        return matcher(matching, 1).corrector_divergence(
            network, pairs, lambda x: ratios[bridge.index(x)], bridge.reference, generator
        )

    @pytest.mark.parametrize("network", ["controller", "corrector"])
    @pytest.mark.parametrize("matching", [AdjointMatching(), DenoisingMatching(latest=0.9)])
    def test_gradient_vanishes_and_other_outputs_cost_more(self, bridge, network, matching):
        generator = torch.Generator().manual_seed(7)
        pairs = self.pairs(bridge, generator)
        amount = torch.zeros(self.N_PAIRS, requires_grad=True)
        state = generator.get_state()
        best = getattr(self, network)(bridge, matching, pairs, amount, generator)
        assert self.z_score(best, amount) < 4
        generator.set_state(state)
        shifted = getattr(self, network)(bridge, matching, pairs, amount + 0.3, generator)
        assert shifted.mean() > best.mean() + 4 * (shifted - best).std() / self.N_PAIRS**0.5

    def test_the_reversed_shift_has_a_gradient_there(self, bridge, monkeypatch):
        def reverse(ratios, pole, at):
            index = ((pole + at)[..., None] - torch.arange(3)) % 3
            return ratios.expand(index.shape).gather(-1, index)

        monkeypatch.setattr("jumpbench.methods.dasbs.matching.adjoint_log_target", reverse)
        generator = torch.Generator().manual_seed(7)
        pairs = self.pairs(bridge, generator)
        amount = torch.zeros(self.N_PAIRS, requires_grad=True)
        loss = self.controller(bridge, AdjointMatching(), pairs, amount, generator)
        assert self.z_score(loss, amount) > 6


def test_several_times_share_one_evaluation_of_ratios_and_corrector(bridge):
    generator = torch.Generator().manual_seed(3)
    start, end = torch.randint(3, (2, 16, 2), generator=generator)
    sizes = []

    def ratios(x):
        sizes.append(len(x))
        return torch.zeros(*x.shape, 3)

    arguments = (Pairs(start, end), ratios, bridge.reference, generator)
    eight = matcher(AdjointMatching(), 8)
    outputs = eight.controller_divergence(lambda x, t: torch.zeros(*x.shape, 3), *arguments)
    assert outputs.shape == (16, 8)
    assert eight.corrector_divergence(ratios, *arguments).shape == (16, 1)
    assert sizes == [16, 16, 16]


def test_weights_are_a_softmax_times_the_batch_size():
    divergence = torch.tensor([[1.0, 3.0], [5.0, 5.0]])
    assert weighted_mean(divergence, None) == 3.5
    weighted = weighted_mean(divergence, torch.tensor([0.0, torch.tensor(3.0).log()]))
    torch.testing.assert_close(weighted, torch.tensor(0.25 * 2 + 0.75 * 5))


def test_memoryless_reference_needs_no_corrector_and_no_special_case(solve):
    generator = torch.Generator().manual_seed(2)
    nu = torch.randn(9, generator=generator).double().softmax(0)
    for schedule in (Constant(40.0), ModifiedLogLinear(1.0, 0.0)):
        memoryless = solve(torch.full((9,), 1 / 9).double(), nu, schedule)
        assert memoryless.log_ratios(memoryless.phi(0.0)).abs().max() < 1e-12
        assert memoryless.log_ratios(memoryless.phihat(1.0)).abs().max() < 1e-12
    pairs = Pairs(memoryless.states, memoryless.states.flip(0))
    t = torch.tensor([0.0, 0.3, 1.0]).expand(9, 3)
    x = memoryless.reference.bridge(pairs, t, generator)
    assert x.shape == (9, 3, 2)
    assert torch.equal(x[:, 2], pairs.end)


def test_denoising_times_stop_before_the_variance_explodes(bridge):
    """Targets are +-log A(t,1)/B(t,1) or 0, largest at the latest time, for both networks."""
    generator = torch.Generator().manual_seed(4)
    start, end = torch.randint(3, (2, 4000, 2), generator=generator)
    assert DenoisingMatching().latest == 0.99  # of the released code
    matching, pairs = DenoisingMatching(latest=0.8), Pairs(start, end)
    arguments = (pairs, 4, lambda x: None, bridge.reference, generator)
    t, _, controller = matching.controller(*arguments)
    assert 0.79 < t.max() < 0.8
    bound = float(bridge.reference.log_odds(torch.tensor(0.8, dtype=torch.float64)).abs())
    for targets in (controller, matching.corrector(*arguments)):
        assert 0.95 * bound < targets.abs().max() <= bound * (1 + 1e-6)
