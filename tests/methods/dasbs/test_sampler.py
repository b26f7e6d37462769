"""Tau-leaping: its exact law, its first-order error, the stay-put rule, the path sums."""

from itertools import pairwise

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.methods.dasbs.sampler import (
    ControlledPaths,
    Grid,
    mode_persistence,
    simulate_controlled,
)
from jumpbench.methods.dasbs.tau_leaping_law import sampler_law
from jumpbench.metrics.histogram import total_variation
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers.weights import effective_sample_size, log_normaliser
from jumpbench.targets.enumeration import enumerate_law
from jumpbench.targets.ising import Ising


def exact_control(bridge):
    """log Phi*_t(x) as a network; the time is the same for the whole batch."""

    def control(x, t):
        return bridge.log_ratios(bridge.phi(t[0].double()))[bridge.index(x)]

    return control


def law_after(bridge, n_steps):
    grid = Grid.uniform(bridge.reference.schedule, n_steps)
    return sampler_law(exact_control(bridge), bridge.mu, bridge.states, grid)


def test_grid_holds_the_exact_integrals():
    grid = Grid.uniform(ModifiedLogLinear(1.0, 0.5), 7)
    assert grid.times[0] == 0
    assert grid.times[-1] == 1
    assert len(grid.noise) == 7
    assert sum(grid.noise) == pytest.approx(torch.log(torch.tensor(3.0)).item(), rel=1e-6)
    with pytest.raises(ValueError, match="infinite noise"):
        Grid.uniform(ModifiedLogLinear(1.0, 0.0), 7)
    assert Grid.uniform(ModifiedLogLinear(1.0, 0.0), 7, start=0.01).times[0] == 0.01


def test_error_halves_when_the_steps_double(bridge):
    errors = [float(total_variation(law_after(bridge, m), bridge.nu)) for m in (10, 20, 40, 80)]
    assert errors[0] < 0.05
    for coarse, fine in pairwise(errors):
        assert 1.8 < coarse / fine < 2.2


def test_simulated_ends_have_the_law_that_propagation_gives(bridge):
    n = 40_000
    generator = torch.Generator().manual_seed(0)
    grid = Grid.uniform(bridge.reference.schedule, 12)
    start = bridge.states[torch.multinomial(bridge.mu, n, True, generator=generator)]
    paths = simulate_controlled(exact_control(bridge), start, grid, bridge.reference, generator)
    law = law_after(bridge, 12)
    frequency = torch.bincount(bridge.index(paths.end), minlength=9) / n
    z = (frequency - law) / (law * (1 - law) / n).sqrt()
    assert z.abs().max() < 4.5
    assert torch.equal(paths.start, start)
    assert paths.invalid.max() == 0


def test_rows_that_are_too_large_or_not_finite_stay_put_and_are_counted():
    x = torch.tensor([[0, 1, 2, 0]])
    log_control = torch.zeros(1, 4, 3)
    log_control[0, 1] = 9.0
    log_control[0, 2, 0] = float("inf")
    log_control[0, 3, 1] = float("inf")
    reference = Reference(UniformProcess(3), ModifiedLogLinear())
    grid = Grid.uniform(reference.schedule, 5)
    paths = simulate_controlled(
        lambda x, t: log_control, x, grid, reference, None, path_weights=True
    )
    assert paths.invalid.tolist() == pytest.approx([0.75])
    assert torch.isfinite(paths.log_reference).all()


def test_which_paths_end_in_the_mode_of_their_start():
    start = torch.tensor([0, 0, 1, 2, 2])[:, None].expand(5, 4)
    end = torch.tensor([[0, 0, 0, 2], [1, 1, 1, 0], [1, 2, 1, 2], [2, 2, 0, 1], [0, 1, 1, 0]])
    none = torch.zeros(5)
    persistence = mode_persistence(ControlledPaths(start, end, none, none), 3)
    assert persistence.tolist() == [1, 0, 0.5, 1, 0]


def test_a_control_that_is_nan_is_an_error():
    reference = Reference(UniformProcess(3), ModifiedLogLinear())
    grid, x = Grid.uniform(reference.schedule, 2), torch.zeros(2, 4, dtype=torch.long)
    broken = torch.full((2, 4, 3), torch.nan)
    with pytest.raises(ValueError, match="NaN"):
        simulate_controlled(lambda x, t: broken, x, grid, reference, None)


def test_girsanov_sum_is_the_ratio_of_potentials_at_the_ends(bridge):
    """Along a path of the exact control, up to the error of the time grid: first order, in the
    median (the few paths on which two sites jump at once are off by more)."""
    generator = torch.Generator().manual_seed(1)
    start = bridge.states.repeat(60, 1)
    errors = []
    for n_steps in (100, 400):
        grid = Grid.uniform(bridge.reference.schedule, n_steps)
        paths = simulate_controlled(
            exact_control(bridge), start, grid, bridge.reference, generator, girsanov=True
        )
        expected = bridge.phi_1.log()[bridge.index(paths.end)]
        expected = expected - bridge.phi(0.0).log()[bridge.index(paths.start)]
        errors.append(float((paths.log_girsanov - expected).abs().median()))
    assert errors[0] < 0.02
    assert 0.2 < errors[1] / errors[0] < 0.32


def random_control(x, t):
    """Some control that has nothing to do with any target, with row sums far below one."""
    symbol = torch.arange(2)
    return 0.5 * torch.sin(1.0 + x.float().cumsum(-1)[..., None] + symbol) * (1 + t[:, None, None])


def test_path_weights_against_the_model_itself_say_nothing():
    """Without a memoryless reference any control has weights near one (section 3 of the spec)."""
    reference = Reference(UniformProcess(2), ModifiedLogLinear(1.0, 0.5))
    generator = torch.Generator().manual_seed(2)
    x = torch.randint(2, (2000, 9), generator=generator)
    grid = Grid.uniform(reference.schedule, 100)
    paths = simulate_controlled(random_control, x, grid, reference, generator, True, girsanov=True)
    assert effective_sample_size(paths.log_girsanov + paths.log_reference) > 0.95
    assert effective_sample_size(paths.log_reference) < 0.8


def test_memoryless_weights_estimate_log_z_with_any_control():
    """E[exp(log weight)] = Z N^-D exactly, whatever the control and the grid (within 4 s.e.)."""
    target = Ising(3, 0.2)
    reference = Reference(UniformProcess(2), ModifiedLogLinear(1.0, 0.0))
    generator = torch.Generator().manual_seed(3)
    x = torch.randint(2, (20_000, 9), generator=generator)
    grid = Grid.uniform(reference.schedule, 60, start=0.01)
    paths = simulate_controlled(random_control, x, grid, reference, generator, True)
    log_weight = target.log_prob(paths.end) + paths.log_reference
    states = torch.tensor(2.0).log().item() * 9
    estimate, error = log_normaliser(log_weight, states)
    assert error < 0.1
    assert abs(estimate - enumerate_law(target).log_z) < 4 * error


def test_the_loop_never_asks_the_device_for_a_value():
    reference = Reference(UniformProcess(3), ModifiedLogLinear())
    grid = Grid.uniform(reference.schedule, 3)
    with FakeTensorMode():
        x = torch.zeros(5, 4, dtype=torch.long, device="cuda")

        def control(x, t):
            return torch.zeros(*x.shape, 3, device="cuda") * t[:, None, None]

        assert simulate_controlled(control, x, grid, reference, None, True, True).end.shape == (
            5,
            4,
        )
