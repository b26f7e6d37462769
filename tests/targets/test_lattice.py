import copy
import pickle
from itertools import combinations_with_replacement

import pytest
import torch

from jumpbench.errors import UserError
from jumpbench.targets.base import check_target, generic_neighbor_log_ratios, random_states
from jumpbench.targets.ising import Ising
from jumpbench.targets.potts import Potts

F64 = torch.float64
TARGETS = {
    "ising": Ising(3, 0.28, dtype=F64),
    "ising with field": Ising(5, 0.4, coupling=1.3, field=-0.7, dtype=F64),
    "antiferromagnet": Ising(4, 0.4, coupling=-1.0, dtype=F64),
    "potts 2": Potts(4, 2, 0.7, dtype=F64),
    "potts 3": Potts(4, 3, 0.7, coupling=1.2, dtype=F64),
    "potts 4": Potts(5, 4, 1.1, dtype=F64),
    "potts 5": Potts(3, 5, 1.1, dtype=F64),
    "potts 7, too many for a table": Potts(3, 7, 1.1, dtype=F64),
}


def states(target, *shape, seed=0):
    return random_states(target, shape, torch.Generator().manual_seed(seed))


def energy_by_edges(target, x):
    """Every edge and site written out, one configuration."""
    grid = x.view(target.size, target.size).tolist()
    size, total = target.size, 0.0
    for i in range(size):
        for j in range(size):
            a = grid[i][j]
            for b in (grid[i][(j + 1) % size], grid[(i + 1) % size][j]):
                if isinstance(target, Ising):
                    total -= target.coupling * (2 * a - 1) * (2 * b - 1)
                else:
                    total -= target.coupling * (a == b)
            if isinstance(target, Ising):
                total -= target.external_field * (2 * grid[i][j] - 1)
    return total


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_energy_counts_every_edge_once(target):
    x = states(target, 4)
    expected = torch.tensor([energy_by_edges(target, row) for row in x], dtype=F64)
    torch.testing.assert_close(target.energy(x), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(target.log_prob(x), -target.beta * expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.long, torch.uint8, torch.int32])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_one_pass_ratios_are_energy_differences(target, dtype):
    x = states(target, 3, 2).to(dtype)
    expected = generic_neighbor_log_ratios(target.log_prob, x, target.n_states)
    ratios = target.neighbor_log_ratios(x)
    torch.testing.assert_close(ratios, expected, rtol=0, atol=1e-12)
    assert (ratios.gather(-1, x.long().unsqueeze(-1)) == 0).all()
    out = torch.full_like(ratios, torch.nan)
    assert target.neighbor_log_ratios(x, out=out).data_ptr() == out.data_ptr()
    assert torch.equal(out, ratios)
    check_target(target, x)


@pytest.mark.parametrize("size", [3, 4, 7, 24])
@pytest.mark.parametrize("n_states", [2, 3, 4, 6])
def test_float32_ratios_at_any_size(size, n_states):
    target, exact = (Potts(size, n_states, 0.9, dtype=t) for t in (torch.float32, F64))
    x = states(target, 17)
    ratios = target.neighbor_log_ratios(x)
    assert ratios.dtype == torch.float32
    # The largest ratio is 4 beta; one rounding.
    torch.testing.assert_close(ratios.double(), exact.neighbor_log_ratios(x), rtol=0, atol=5e-7)


def test_potts_at_twice_the_beta_is_ising():
    ising, potts = Ising(4, 0.3, dtype=F64), Potts(4, 2, 0.6, dtype=F64)
    x = states(ising, 50)
    torch.testing.assert_close(ising.energy(x), 2 * potts.energy(x) + 2 * 16)
    torch.testing.assert_close(ising.neighbor_log_ratios(x), potts.neighbor_log_ratios(x))


def test_a_single_state_and_no_state():
    target = TARGETS["potts 3"]
    assert target.neighbor_log_ratios(states(target)).shape == (16, 3)
    assert target.energy(states(target)).shape == ()
    assert target.neighbor_log_ratios(states(target, 0)).shape == (0, 16, 3)


def test_copies_and_pickles_work_after_use():
    target = Ising(4, 0.3)
    x = states(target, 2)
    ratios = target.neighbor_log_ratios(x)
    for other in (copy.deepcopy(target), pickle.loads(pickle.dumps(target))):
        assert torch.equal(other.neighbor_log_ratios(x), ratios)


def test_another_temperature():
    x = states(TARGETS["ising"], 5)
    for target in (Ising(3, 0.2, 1.1, 0.3), Potts(3, 2, 0.2, 1.1)):
        other = target.at(0.4)
        torch.testing.assert_close(other.log_prob(x), 2 * target.log_prob(x))
        assert type(other) is type(target)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ising(2, 0.3),
        lambda: Potts(1, 3, 0.3),
        lambda: Ising(4, -0.1),
        lambda: Ising(4, float("nan")),
        lambda: Ising(4, 0.3, coupling=float("inf")),
        lambda: Ising(4, 0.3, field=float("nan")),
        lambda: Potts(4, 1, 0.3),
    ],
)
def test_bad_models_are_refused(make):
    with pytest.raises(UserError):
        make()


def test_bad_output_is_refused():
    target = Ising(3, 0.3)
    x = states(target, 2)
    for out in (torch.empty(2, 9, 3), torch.empty(2, 9, 2, dtype=F64), torch.empty(2, 2, 9).mT):
        with pytest.raises(UserError, match="out must be contiguous"):
            target.neighbor_log_ratios(x, out=out)


@pytest.mark.parametrize("n_states", range(2, 7))
def test_no_two_neighbourhoods_are_taken_for_one(n_states):
    """Any four neighbours around any symbol; 3, 3, 3, 0 have the cubes of 4, 2, 2, 1."""
    target = Potts(3, n_states, 0.7, dtype=F64)
    around = torch.tensor(list(combinations_with_replacement(range(n_states), 4)))
    centre = torch.arange(n_states).repeat_interleave(len(around))
    x = torch.zeros(len(centre), 9, dtype=torch.long)
    x[:, 4] = centre
    x[:, [1, 3, 5, 7]] = around.repeat(n_states, 1)
    jumped = x.unsqueeze(1).repeat(1, n_states, 1)
    jumped[:, :, 4] = torch.arange(n_states)
    expected = target.log_prob(jumped) - target.log_prob(x)[:, None]
    torch.testing.assert_close(target.neighbor_log_ratios(x)[:, 4], expected)
