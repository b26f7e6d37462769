"""Time-stepping against exact laws, propagated without sampling through the steps themselves."""

import pytest
import torch

from jumpbench.ops.uniforms import fill_uniform_
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.jumps import frozen, jump_law, leap, renormalise, stay
from jumpbench.samplers.leaping import euler, tau_leaping
from jumpbench.samplers.weights import PathIntegral
from oracles import all_states

N, D = 3, 2
STATES = all_states(N, D)
F64 = torch.float64


class Steered:
    """The uniform process steered to end in law p_1(x) ~ phi_1(x) sum_y mu(y) K(y, x) / phi_0(y).

    Rates gamma_t / N phi_t(y) / phi_t(x) on {0,1,2}^2, phi_t = K(t, 1) phi_1 (Doob transform).
    """

    schedule = ModifiedLogLinear(1.0, 0.5)
    process = UniformProcess(N)

    def __init__(self):
        generator = torch.Generator().manual_seed(4)
        self.start = torch.rand(9, dtype=F64, generator=generator)
        self.start /= self.start.sum()
        self.phi_1 = torch.rand(9, dtype=F64, generator=generator) + 0.1
        changed = STATES[:, None, None].expand(9, D, N, D).clone()
        for site in range(D):
            changed[:, site, :, site] = torch.arange(N)
        self.neighbour = changed[..., 0] * N + changed[..., 1]

    def kernel(self, s):
        site = self.process.kernel(self.schedule.integral(s, 1.0))
        return torch.kron(site, site)

    def ratios(self, x, t):
        phi = self.kernel(t[0]) @ self.phi_1
        index = x[:, 0] * N + x[:, 1]
        return (phi[self.neighbour] / phi[:, None, None])[index] / N

    def end(self):
        kernel = self.kernel(0.0)
        return (self.start / (kernel @ self.phi_1)) @ kernel * self.phi_1

    def grid(self, n_steps):
        times = torch.linspace(0, 1, n_steps + 1, dtype=F64)
        return times, self.schedule.integral(times[:-1], times[1:])

    def propagated(self, n_steps, rule):
        """Law after ``n_steps`` of the sampler: its own per-site rows, multiplied out."""
        law, matrices = self.start, []

        def record(step):
            first, second = jump_law(step.expected, step.before, rule)[0].unbind(1)
            matrices.append((first[:, :, None] * second[:, None, :]).reshape(9, 9))

        times, weights = self.grid(n_steps)
        for i in range(n_steps):
            tau_leaping(
                self.ratios, STATES, times[i : i + 2], None, weights[i : i + 1], rule, [record]
            )
        for matrix in matrices:
            law = law @ matrix
        return law


@pytest.mark.parametrize("rule", [stay, renormalise, frozen])
def test_error_halves_when_the_steps_double(rule):
    steered = Steered()
    errors = [
        (steered.propagated(m, rule) - steered.end()).abs().sum().item() / 2 for m in (40, 80, 160)
    ]
    assert errors[-1] > 1e-5
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.06)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.03)


def test_samples_follow_the_propagated_law():
    """Six steps, 40000 chains: every state within 5 standard errors (fixed seed)."""
    steered, chains = Steered(), 40_000
    generator = torch.Generator().manual_seed(0)
    start = torch.multinomial(steered.start, chains, replacement=True, generator=generator)
    times, weights = steered.grid(6)
    end, info = tau_leaping(steered.ratios, STATES[start], times, generator, weights)
    law = steered.propagated(6, stay)
    counts = torch.bincount(end[:, 0] * N + end[:, 1], minlength=9) / chains
    assert ((counts - law).abs() < 5 * (law * (1 - law) / chains).sqrt()).all()
    assert info.sequential_steps == 6
    assert (info.invalid == 0).all()


def test_rows_stay_or_renormalise_and_are_counted():
    x = torch.tensor([[0, 0, 1, 1]])
    expected = torch.tensor(
        [[[0, 0.2, 0.3], [0, 1.5, 0.5], [torch.inf, 0, 0], [0.0, 0, torch.nan]]]
    )
    fixed, bad = jump_law(expected, x, stay)
    assert bad.tolist() == [[False, True, True, True]]
    torch.testing.assert_close(
        fixed[0], torch.tensor([[0.5, 0.2, 0.3], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    )
    scaled, bad = jump_law(expected, x, renormalise)
    assert bad.tolist() == [[False, True, True, True]]
    torch.testing.assert_close(
        scaled[0], torch.tensor([[0.5, 0.2, 0.3], [0, 0.75, 0.25], [0, 1, 0], [0, 1, 0]])
    )
    single, bad = jump_law(expected, x, frozen)
    assert bad.tolist() == [[False, False, True, True]]
    left = torch.exp(torch.tensor(-0.5)).item()
    torch.testing.assert_close(
        single[0, 0], torch.tensor([left, 0.4 * (1 - left), 0.6 * (1 - left)])
    )
    finite = expected.nan_to_num(posinf=torch.inf)
    end, info = tau_leaping(
        lambda x, t: finite, x, [0.0, 1.0, 2.0], torch.Generator().manual_seed(0)
    )
    assert info.invalid.tolist() == [4]
    assert end[0, 1:].tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="rates of a jump process are NaN"):
        tau_leaping(lambda x, t: expected, x, [0.0, 1.0], torch.Generator().manual_seed(0))


def test_a_uniform_number_is_never_zero():
    """A jump of probability 1e-12 would else happen once in 2^24 sites and steps."""

    class Zero(torch.Tensor):
        """Uniform numbers at the lower end of what was asked for."""

        def uniform_(self, low=0.0, high=1.0, *, generator=None):
            return self.fill_(low)

    for dtype in (F64, torch.float32):
        u = fill_uniform_(torch.empty(3, dtype=dtype).as_subclass(Zero)).as_subclass(torch.Tensor)
        assert (u > 0).all()
    x, expected = torch.zeros(1, 3, dtype=torch.long), torch.full((1, 3, 2), 1e-12)
    assert (leap(expected, x, u[None]).after == 0).all()
    u = fill_uniform_(torch.empty(2**20), torch.Generator().manual_seed(0))
    assert u.max() < 1 and u.min() > 0
    assert abs(u.mean() - 0.5) < 5 / (12 * 2**20) ** 0.5


def test_frozen_rows_are_exact_for_single_decays():
    """A site that jumps once from 1 to 0 at rate 0.8 survives 1.5 with exp(-1.2)."""
    rates = torch.tensor([[[1.2, 0.0]]], dtype=F64)
    row, _ = jump_law(rates, torch.tensor([[1]]), frozen)
    assert row[0, 0, 1].item() == pytest.approx(torch.exp(torch.tensor(-1.2)).item(), rel=1e-7)


def test_hooks_see_every_step_and_the_jumps_are_counted():
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(4, (50, 6), generator=generator).to(torch.uint8)
    start, changes = x.clone(), torch.zeros(50, dtype=torch.long)
    length = PathIntegral(lambda x, t: t)

    def hook(step):
        length(step)
        changes.add_((step.before != step.after).sum(-1))
        assert (step.expected.gather(-1, step.before.long()[..., None]) == 0).all()

    end, info = euler(lambda x, t: torch.ones(50, 6, 4), x, [1.0, 0.7, 0.2], generator, [hook])
    assert end.dtype == torch.uint8
    assert torch.equal(x, start)
    assert torch.equal(info.jumps, changes)
    assert (changes > 0).any()
    torch.testing.assert_close(length.value, torch.full((50,), 1.0 * 0.3 + 0.7 * 0.5, dtype=F64))


def test_one_weight_per_step():
    with pytest.raises(ValueError, match="3 weights for 3 times"):
        tau_leaping(lambda x, t: x, STATES, [0.0, 0.5, 1.0], weights=[1.0, 1.0, 1.0])


@pytest.mark.parametrize("rule", [stay, renormalise, frozen])
@pytest.mark.parametrize("n_states", [2, 3])
def test_a_leap_draws_from_its_law(rule, n_states):
    """40000 draws of rows below, above and far above one: within 4.5 standard errors; NaN stays."""
    generator = torch.Generator().manual_seed(1)
    expected = torch.rand(1, 5, n_states, generator=generator)
    expected *= torch.tensor([0.2, 1.0, 40.0, 0.0, torch.nan])[:, None]
    x = torch.randint(n_states, (1, 5), generator=generator)
    law, _ = jump_law(expected, x, rule)
    n = 40_000
    u = torch.rand(n, 5, generator=generator)
    moved = leap(expected.repeat(n, 1, 1), x.expand(n, 5), u, rule)
    seen = torch.nn.functional.one_hot(moved.after, n_states).float().mean(0)
    assert ((seen - law[0]).abs() <= 4.5 * (law[0] * (1 - law[0]) / n).sqrt() + 1e-7).all()
    assert (moved.after[:, 3:] == x[:, 3:]).all()


def test_a_symbol_is_drawn_by_inversion():
    expected = torch.tensor([[[0.0, 0.1, 0.2]]])
    x, u = torch.zeros(1, 1, dtype=torch.long), torch.empty(1, 1)
    drawn = [int(leap(expected, x, u.fill_(v)).after) for v in (0.0, 0.09, 0.11, 0.29, 0.31)]
    assert drawn == [1, 1, 2, 2, 0]


def test_half_precision_rates_are_taken_to_single():
    """bfloat16 uniforms have 256 values; the smallest jump probabilities would be lost."""
    dtypes = []
    rates = torch.full((20, 6, 2), 0.3, dtype=torch.bfloat16)
    x = torch.zeros(20, 6, dtype=torch.long)
    hooks = [lambda step: dtypes.append(step.expected.dtype)]
    tau_leaping(lambda x, t: rates, x, [0.0, 1.0], hooks=hooks)
    assert dtypes == [torch.float32]


def test_rates_are_left_as_they_are():
    rates = torch.full((5, 4, 3), 0.2)
    before, x = rates.clone(), torch.zeros(5, 4, dtype=torch.long)
    tau_leaping(lambda x, t: rates, x, torch.linspace(0, 1, 4), torch.Generator().manual_seed(0))
    assert torch.equal(rates, before)
