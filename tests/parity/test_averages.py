"""Moving averages of weights against those of three released repositories, which agree exactly."""

import pytest
import torch
from torch import nn

from jumpbench.methods.common.averaging import RampedAverage, RampedWeightAveraging
from parity.arrays import agree, arrays

STORED = arrays("averages")
RELEASES = ("score_sde", "sgdd", "dasbs")

each_decay = pytest.mark.parametrize("decay", [0.9999, 0.5])


class Row(nn.Module):
    """A network that is one row of five weights."""

    def __init__(self, values):
        super().__init__()
        self.weight = nn.Parameter(values.clone())


@pytest.mark.parametrize("release", RELEASES)
@each_decay
def test_average_that_starts_at_the_initial_weights(release, decay):
    average = RampedAverage(Row(STORED["weights"][0]), decay)
    history = []
    for row in STORED["weights"][1:]:
        average.update(Row(row))
        history.append(average.network.weight.detach().clone())
    agree(torch.stack(history), STORED[f"{release}.decay{decay}"], 1e-6)


@each_decay
def test_the_callback_has_the_same_rule_for_its_counts(decay):
    """Its update j, once it has an average: Lightning counts from the update that gave it one."""
    callback, average = RampedWeightAveraging(decay), [STORED["weights"][0].clone()]
    history = []
    for j, row in enumerate(STORED["weights"][1:], start=1):
        callback._average(average, [row], torch.tensor(j))
        history.append(average[0].clone())
    agree(torch.stack(history), STORED[f"score_sde.decay{decay}"], 1e-6)


def test_the_ramp_decides_while_it_is_below_the_decay():
    slow, fast = (STORED[f"dasbs.decay{decay}"] for decay in (0.9999, 0.5))
    ramp = torch.arange(1, 41)
    below = (1 + ramp) / (10 + ramp) <= 0.5
    assert below.any() and not below.all()
    agree(slow[below], fast[below], 1e-6)
    assert (slow - fast)[~below].abs().max() > 0.1
