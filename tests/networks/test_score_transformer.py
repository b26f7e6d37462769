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


def test_parameters_of_the_prior_of_sgdd():
    """12 layers of 768 with learned scales of the norms, for 2, 4, 129 and 256 symbols."""
    sizes = {2: 92_383_746, 4: 92_386_820, 129: 92_578_945, 256: 92_774_144}
    for symbols, expected in sizes.items():
        with torch.device("meta"):
            network = ScoreTransformer(symbols, 768, 12, 12, 3072, norm_scales=True)
        assert sum(p.numel() for p in network.parameters()) == expected


def test_scales_of_the_norms_start_at_one_and_are_learned():
    plain, scaled = stirred(), stirred(norm_scales=True)
    names = {n for n, _ in scaled.named_parameters()} - {n for n, _ in plain.named_parameters()}
    assert names == {f"blocks.{i}.norms.{j}" for i in range(2) for j in range(2)} | {"norm"}
    x = torch.randint(5, (3, 4))
    scaled(x, torch.rand(3)).sum().backward()
    assert all(p.grad is not None for n, p in scaled.named_parameters() if n in names)
