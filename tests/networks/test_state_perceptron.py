"""The plain perceptron on discrete states."""

import math

import torch

from jumpbench.networks.state_perceptron import StatePerceptron


def test_reads_signed_one_hot_and_thirty_three_time_features():
    network = StatePerceptron(length=2, n_states=3)
    seen = []
    network.net.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    out = network(torch.tensor([[2, 0]]), torch.tensor([0.25]))
    assert out.shape == (1, 2, 3)
    features = seen[0][0]
    assert features.shape == (6 + 33,)
    assert features[:6].tolist() == [-1, -1, 1, 1, -1, -1]
    waves = [math.pi * k * 0.25 for k in range(1, 17)]
    expected = [0.25, *map(math.cos, waves), *map(math.sin, waves)]
    torch.testing.assert_close(features[6:], torch.tensor(expected))


def test_without_time_it_takes_the_state_alone():
    network = StatePerceptron(length=4, n_states=2, harmonics=None, layers=1, hidden=8)
    assert network(torch.zeros(3, 4, dtype=torch.long)).shape == (3, 4, 2)
    assert sum(p.numel() for p in network.parameters()) == (8 * 8 + 8) + (8 * 8 + 8)
