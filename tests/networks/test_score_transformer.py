"""The score network: start, dependence on its inputs, size."""

import torch

from jumpbench.networks.score_transformer import ScoreTransformer


def small(**options):
    torch.manual_seed(0)
    return ScoreTransformer(5, 16, 2, 2, 32, 0.0, 8, **options)


def stirred(**options):
    network = small(**options)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return network


def test_starts_as_the_uniform_score():
    x = torch.randint(5, (3, 4))
    assert (small()(x, torch.rand(3)) == 0).all()


def test_current_symbol_has_log_score_zero_and_inputs_matter():
    network, x, noise = stirred(), torch.randint(5, (3, 4)), torch.rand(3)
    score = network(x, noise)
    assert score.shape == (3, 4, 5)
    assert (score.gather(-1, x[..., None]) == 0).all()
    assert not torch.allclose(score, network(x, noise + 1))
    assert not torch.allclose(score[:, 0], network(x.roll(1, 1), noise)[:, 1])


def test_rotary_positions_tell_neighbours_from_far_sites():
    network = stirred()
    a = torch.tensor([[1, 2, 3, 3, 3, 3]])
    b = torch.tensor([[1, 3, 3, 3, 3, 2]])
    noise = torch.ones(1)
    assert not torch.allclose(network(a, noise)[:, 0], network(b, noise)[:, 0])


def test_absolute_positions():
    # one symbol everywhere: attention averages equal values, so only absolute positions can tell
    x, noise = torch.zeros(1, 6, dtype=torch.long), torch.ones(1)
    relative, absolute = stirred()(x, noise), stirred(positions=6)(x, noise)
    torch.testing.assert_close(relative, relative[:, :1].expand_as(relative))
    assert not torch.allclose(absolute[:, 0], absolute[:, 1])


def test_published_size():
    total = sum(p.numel() for p in ScoreTransformer(100).parameters())
    assert 24.5e6 < total < 25.5e6, total
