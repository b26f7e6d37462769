"""Costs add up; meters count states, whatever goes through them."""

import pytest
import torch

from jumpbench.samplers.cost import Cost, Meter, metered
from jumpbench.samplers.draws import Draws, narrow
from jumpbench.targets.ising import Ising


def test_costs_add_and_scale():
    one, two = Cost(1, 2, 3, 4), Cost(10, 20, 30, 40)
    assert one + two == Cost(11, 22, 33, 44)
    assert two.scaled(0.5) == Cost(5, 10, 15, 40)  # seconds are the batch's, not a sample's


def test_a_metered_target_counts_states_and_changes_no_value():
    target, meter = Ising(3, beta=0.4), Meter()
    counted = metered(target, meter)
    x = torch.randint(2, (5, 4, 9))
    assert torch.equal(counted.log_prob(x), target.log_prob(x))
    assert meter.energy == 20
    assert torch.equal(counted.neighbor_log_ratios(x[0]), target.neighbor_log_ratios(x[0]))
    assert (meter.energy, meter.network) == (20 + 4 * 10, 0)
    assert (counted.length, counted.n_states) == (9, 2)


def test_a_metered_network_counts_calls_by_their_event():
    meter = Meter()
    network = metered(torch.nn.Conv2d(1, 1, 1), meter, "network", event_dims=3)
    network(torch.zeros(7, 1, 4, 4))
    assert (meter.network, meter.energy) == (7, 0)
    assert meter.per_sample(2, sequential_steps=3) == Cost(3.5, 0, 3)


def test_draws_survive_their_file():
    draws = Draws(
        torch.tensor([[3, 0], [255, 1]]), torch.tensor([0.1, 0.2]), Cost(1, 2, 3, 4),
        {"jumps": torch.tensor([1.0, 2.0])},
    )  # fmt: skip
    plain = draws.plain()
    assert plain["samples"].dtype == torch.uint8
    back = Draws.restored(plain)
    assert torch.equal(back.samples, draws.samples) and back.samples.dtype == torch.long
    assert torch.equal(back.log_weights, draws.log_weights.double())
    assert back.cost == draws.cost and torch.equal(back.extras["jumps"], draws.extras["jumps"])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(255, torch.uint8), (256, torch.int16), (-1, torch.int16), (70_000, torch.int32)],
)
def test_states_are_stored_in_the_smallest_type(value, dtype):
    states = torch.tensor([0, value])
    assert narrow(states).dtype == dtype
    assert torch.equal(narrow(states).long(), states)


def test_draws_of_unequal_sizes_are_refused():
    with pytest.raises(ValueError, match="3 samples"):
        Draws(torch.zeros(3, 2), torch.zeros(2))
    with pytest.raises(ValueError, match="'jumps' has 1"):
        Draws(torch.zeros(3, 2), extras={"jumps": torch.zeros(1)})
