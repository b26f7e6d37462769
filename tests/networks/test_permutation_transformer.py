"""Sizes and symmetries of the networks that score permutations."""

import pytest
import torch

from jumpbench.networks.embeddings import TimeEmbedding
from jumpbench.networks.object_encoders import (
    DigitwiseEncoder,
    IntegerEncoder,
    NumberEncoder,
    PieceEncoder,
    PointFeatures,
    ScalarEncoder,
)
from jumpbench.networks.permutation_transformer import (
    PairScores,
    PermutationTransformer,
    TokenScores,
    append_zeros,
    positions,
)
from jumpbench.networks.tour_transformer import TourTransformer


def size(module):
    return sum(p.numel() for p in module.parameters())


def small(head, n=4, dim=16):
    torch.manual_seed(0)
    return PermutationTransformer(ScalarEncoder(dim), head, dim, 2, 2, 32).eval()


@pytest.mark.parametrize(
    ("module", "parameters"),
    [
        (lambda: PermutationTransformer(ScalarEncoder(128), PairScores()).layers, 1_387_904),
        (lambda: TimeEmbedding(128), 49_408),
        (lambda: NumberEncoder(), 1_658_048),
        (lambda: NumberEncoder(hidden=6336).head, 12544 * 6336 + 6336 + 6336 * 128 + 128),
        (lambda: TokenScores(128, 512), 66_561),
        (lambda: TokenScores(768, 768), 591_361),
        (lambda: TimeEmbedding(768), 787_968),
        (lambda: TourTransformer(PairScores()), 12_767_744),
        (
            lambda: PermutationTransformer(PointFeatures(256), PairScores(), 256, 16, 8, 1024),
            12_767_744,
        ),
        (lambda: PermutationTransformer(IntegerEncoder(100, 128), PairScores()), 1_450_112),
    ],
)
def test_parameter_counts(module, parameters):
    with torch.device("meta"):
        assert size(module()) == parameters


@pytest.mark.parametrize(
    ("image", "channels", "millions"),
    [
        (28, 1, {2: 2.88, 3: 1.64, 4: 1.52, 5: 1.47, 6: 1.47}),
        (32, 3, {2: 3.81, 3: 1.87, 4: 1.64}),
    ],
)
def test_jigsaw_parameter_counts(image, channels, millions):
    with torch.device("meta"):
        for pieces, expected in millions.items():
            net = PermutationTransformer(PieceEncoder(image, pieces, channels), PairScores())
            assert round(size(net) / 1e6, 2) == expected


def test_sort_200_parameter_counts():
    with torch.device("meta"):
        net = PermutationTransformer(NumberEncoder(768), TokenScores(768, 768), 768, 12, 12, 768)
        assert round(size(net.layers) / 1e6, 1) == 42.6
        assert round(size(net.encoder) / 1e6, 2) == 9.69
        assert round(size(net) / 1e6, 1) == 53.6


@pytest.mark.parametrize("rows", ["object", "dummy"])
def test_dummies_see_objects_and_earlier_dummies_only(rows):
    """Oracle 15: perturb the input of one dummy and see what moves."""
    n, dim = 4, 16
    net = small(PairScores(rows), n, dim)
    mask = net.head.mask(n, torch.device("cpu"))
    assert (mask == 0).sum(-1).min() >= n  # every query has keys: no NaN rows

    def run(tokens):
        for layer in net.layers:
            tokens = layer(tokens, src_mask=mask)
        return tokens

    with torch.no_grad():
        tokens = torch.randn(1, 2 * n, dim)
        base = run(tokens)
        for j in range(n):
            changed = tokens.clone()
            changed[0, n + j] += 1.0
            moved = (run(changed) - base).abs().amax(-1)[0] > 1e-6
            expected = torch.arange(2 * n) >= n + j
            assert torch.equal(moved, expected)


def test_rows_are_transposes_of_each_other():
    torch.manual_seed(0)
    tokens = torch.randn(2, 6, 8)
    assert torch.equal(PairScores("object")(tokens, 3), PairScores("dummy")(tokens, 3).mT)
    with pytest.raises(ValueError, match="'object' or 'dummy'"):
        PairScores("column")


def test_score_bound():
    """|S_ij| <= d because both factors leave an affine-free LayerNorm."""
    net = small(PairScores())
    scores = net(net.encode(torch.rand(8, 4, 1)), torch.full((8,), 3))
    assert scores.abs().max() <= 16 + 1e-4


def test_pinned_first_city():
    tokens = torch.randn(2, 8, 8)
    scores = PairScores(pin_first=True)(tokens, 4)
    assert torch.isinf(scores[:, 0, 1:]).all() and torch.isinf(scores[:, 1:, 0]).all()
    assert torch.isfinite(scores[:, 0, 0]).all() and torch.isfinite(scores[:, 1:, 1:]).all()


def test_encoding_once_and_permuting_equals_encoding_the_permuted_list():
    net = small(PairScores())
    objects, order = torch.rand(3, 5, 1), torch.tensor([3, 1, 0, 4, 2])
    t = torch.tensor([2, 5, 9])
    torch.testing.assert_close(
        net(net.encode(objects)[:, order], t), net(net.encode(objects[:, order]), t)
    )


def test_head_of_transpositions_has_one_more_score():
    net = small(TokenScores(16, 32, extra=1))
    assert net(net.encode(torch.rand(3, 5, 1)), torch.full((3,), 2)).shape == (3, 6)


def test_scores_depend_on_time_and_on_place():
    net = small(TokenScores(16, 32))
    tokens = net.encode(torch.rand(1, 4, 1))
    first, second = net(tokens, torch.tensor([2])), net(tokens, torch.tensor([8]))
    assert (first - second).abs().max() > 1e-3
    moved = net(tokens.flip(1), torch.tensor([2])).flip(1)
    assert (first - moved).abs().max() > 1e-3


def test_positions_follow_the_formula():
    code = positions(torch.zeros(1, 7, 6))
    for pos in range(7):
        for c in range(3):
            angle = torch.tensor(pos / 10000 ** (2 * c / 6))
            assert abs(code[pos, 2 * c] - angle.sin()) < 1e-6
            assert abs(code[pos, 2 * c + 1] - angle.cos()) < 1e-6
    assert append_zeros(torch.ones(1, 2, 3), 2)[0, 2:].abs().sum() == 0


def test_point_features_follow_the_formula():
    z = torch.rand(2, 3, 2)
    features = PointFeatures(8)(z)
    for axis in range(2):
        for c in range(2):
            angle = 2 * torch.pi * z[..., axis] / 10000 ** (2 * c / 4)
            torch.testing.assert_close(features[..., 4 * axis + 2 * c], angle.sin())
            torch.testing.assert_close(features[..., 4 * axis + 2 * c + 1], angle.cos())


def test_tour_nodes_see_only_their_edges():
    """Moving city j changes the first cross layer's output only through the edges of each node."""
    torch.manual_seed(0)
    net = TourTransformer(PairScores(pin_first=True), dim=16, layers=4, heads=2, hidden=32).eval()
    seen = {}

    def record(module, inputs, output):
        seen.setdefault("mask", inputs[2])

    net.cross[0].register_forward_hook(record)
    scores = net(torch.rand(2, 5, 2), torch.tensor([4, 7]))
    assert scores.shape == (2, 5, 5)
    first, second = torch.triu_indices(5, 5, 1)
    ends = torch.stack([first, second], 1)
    for node in range(5):
        assert torch.equal(seen["mask"][node] == 0, (ends == node).any(1))
    with pytest.raises(ValueError, match="pairs"):
        TourTransformer(PairScores(), layers=3)


def test_tour_scores_depend_on_the_current_order():
    torch.manual_seed(0)
    net = TourTransformer(PairScores(), dim=16, layers=2, heads=2, hidden=32).eval()
    points, t = torch.rand(1, 5, 2), torch.tensor([4])
    assert (net(points, t) - net(points.flip(1), t)).abs().max() > 1e-3


def test_encoders_refuse_objects_of_another_size():
    with pytest.raises(ValueError, match=r"shape \(1, 28, 112\), not \(1, 28, 84\)"):
        NumberEncoder()(torch.zeros(1, 2, 1, 28, 84))
    with pytest.raises(ValueError, match=r"shape \(1, 9, 9\)"):
        PieceEncoder(28, 3)(torch.zeros(1, 4, 1, 14, 14))
    with pytest.raises(ValueError, match="give it the sizes"):
        DigitwiseEncoder()(torch.zeros(1, 2, 28, 112))
    net = PermutationTransformer(ScalarEncoder(8), PairScores(), 16, 1, 2, 16)
    with pytest.raises(ValueError, match="8 wide, the network's 16"):
        net.encode(torch.zeros(1, 2, 1))


def test_digitwise_encoder_reads_each_digit_the_same_way():
    torch.manual_seed(0)
    encoder = DigitwiseEncoder(16).eval()
    images = torch.rand(1, 2, 1, 28, 112)
    images[0, 1] = images[0, 0].roll(28, -1)
    pictures = images.unflatten(-1, (4, 28)).transpose(-2, -3).reshape(-1, 1, 28, 28)
    features = encoder.trunk(pictures).view(2, 4, -1)
    torch.testing.assert_close(features[1], features[0].roll(1, 0))
