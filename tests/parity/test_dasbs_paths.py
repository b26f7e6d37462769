"""DASBS's tau-leaping, weights of paths and lattice targets against its release."""

import pytest
import torch

from jumpbench.methods.dasbs import sampler
from jumpbench.methods.dasbs.bridge import Reference
from jumpbench.processes.schedules import ModifiedLogLinear
from jumpbench.processes.uniform import UniformProcess
from jumpbench.samplers import leaping
from jumpbench.samplers.jumps import clear_current, jump_law, stay
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts
from parity.arrays import agree, arrays
from parity.replay import uniforms

STEPS = 4
SCHEDULE = ModifiedLogLinear(1.3, 0.5)
GRID = sampler.Grid.uniform(SCHEDULE, STEPS)
MUST_STAY = {(0, 2, 4), (3, 1, 0)}  # path, step, site whose jumps sum to more than one

each_n = pytest.mark.parametrize("n", (2, 4))


def stored_paths(n):
    """States (5, B, D), log control (4, B, D, N) and the rest, time first."""
    stored = arrays("dasbs", f"N{n}.leap.")
    for name in ("states", "log_control", "probabilities"):
        stored[name] = stored[name].transpose(0, 1)
    return stored


def expected_jumps(stored, n, k):
    jumps = stored["log_control"][k].exp() * (GRID.noise[k] / n)
    return clear_current(jumps, stored["states"][k])


@each_n
def test_law_of_every_step(n):
    stored = stored_paths(n)
    invalid = set()
    for k in range(STEPS):
        law, stays = jump_law(expected_jumps(stored, n, k), stored["states"][k])
        agree(law, stored["probabilities"][k], 2e-6)
        invalid |= {(path, k, site) for path, site in stays.nonzero().tolist()}
    assert invalid == MUST_STAY


@pytest.fixture
def replayed(request, monkeypatch):
    """Our simulation with stored controls, and uniform numbers that lead along the stored states"""
    n = request.param
    stored = stored_paths(n)
    steps = iter(range(STEPS))

    def fill(u, generator):
        k = next(steps)
        x, after = stored["states"][k : k + 2]
        return u.copy_(uniforms(expected_jumps(stored, n, k), x, after, stay))

    monkeypatch.setattr(leaping, "fill_uniform_", fill)
    calls = iter(range(STEPS))

    def log_control(x, t):
        k = next(calls)
        assert torch.equal(x, stored["states"][k]), "the simulation left the stored paths"
        assert (t - k / STEPS).abs().max() < 1e-6
        return stored["log_control"][k]

    paths = sampler.simulate_controlled(
        log_control, stored["states"][0], GRID, Reference(UniformProcess(n), SCHEDULE), None,
        path_weights=True, girsanov=True,
    )  # fmt: skip
    return paths, stored


each_replay = pytest.mark.parametrize("replayed", (2, 4), indirect=True)


@each_replay
def test_simulation_ends_and_jumps(replayed):
    paths, stored = replayed
    assert torch.equal(paths.end, stored["states"][-1])
    agree(paths.jumps, stored["num_jumps_per_dim"], 1e-6)
    stays = paths.invalid * paths.end.shape[-1] * STEPS
    agree(stays, torch.tensor([1.0, 0, 0, 1, 0]), 1e-5)


@each_replay
def test_log_weight_against_the_reference(replayed):
    paths, stored = replayed
    agree(paths.log_reference, (stored["log_p_r"] - stored["log_p_u"]).double(), 2e-5)


@each_replay
def test_girsanov_exponent(replayed):
    """Where a site had to stay, theirs keeps its control in the sum and ours counts it as 0."""
    paths, stored = replayed
    kept = paths.log_girsanov.clone()
    for path, k, site in MUST_STAY:
        total = expected_jumps(stored, stored["log_control"].shape[-1], k)[path, site].sum()
        assert total > 1
        kept[path] -= total
    agree(kept, stored["log_dp_star_dp_r"], 5e-6)
    agree(kept + paths.log_reference, stored["log_dp_star_dp_u"], 2e-5)


@pytest.mark.parametrize(
    "name, target", [("ising", Ising(4, 0.44, field=0.3)), ("potts", Potts(4, 4, 1.0986))]
)
def test_lattice_targets(name, target):
    stored = arrays("dasbs", f"{name}.")
    agree(target.neighbor_log_ratios(stored["x"]), stored["log_ratios"], 2e-6)
    agree(target.energy(stored["x"]), stored["energy"], 1e-5)
    agree(target.log_prob(stored["x"]), -target.beta * stored["energy"], 1e-5)
