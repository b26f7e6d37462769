"""The score network of SGDD's prior against SEDD's transformer as the release has it."""

import torch

from jumpbench.networks.score_transformer import ScoreTransformer
from parity.arrays import agree, arrays, with_weights

STORED = arrays("sgdd_transformer")


def network(dtype=torch.float32):
    model = ScoreTransformer(
        3, dim=16, layers=2, heads=2, feedforward=64, condition=8, norm_scales=True
    )
    return with_weights(model, arrays("sgdd_transformer", "weight.")).to(dtype)


@torch.no_grad()
def test_log_scores():
    ours = network()(STORED["x"], STORED["noise"])
    assert STORED["output"].abs().max() > 1
    agree(ours, STORED["output"], 5e-6)


@torch.no_grad()
def test_current_symbols_have_log_score_zero():
    for scores in (network()(STORED["x"], STORED["noise"]), STORED["output"]):
        assert (scores.gather(-1, STORED["x"][..., None]) == 0).all()


@torch.no_grad()
def test_log_scores_of_one_hot_weights():
    one_hot = torch.nn.functional.one_hot(STORED["x"], 3).float()
    agree(network()(one_hot, STORED["noise"]), STORED["output"], 5e-6)
