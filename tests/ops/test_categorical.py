import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpbench.ops.categorical import sample_categorical


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1e-30, 0.1, 1.0, 1e30]), min_size=1, max_size=6))
def test_an_entry_of_weight_zero_is_never_drawn(weights):
    weights = torch.tensor(weights)
    index = sample_categorical(weights.expand(500, -1), torch.Generator().manual_seed(0))
    if weights.sum() > 0:
        assert (weights[index] > 0).all()
    else:
        assert (index == 0).all()


def test_the_ends_of_the_uniform_meet_no_zero_entry(monkeypatch):
    weights = torch.tensor([0.0, 0.3, 0.0, 0.7, 0.0])
    for u, expected in ((0.0, 3), (1 - 2**-24, 1)):  # the draw is inverted: 1 - u
        monkeypatch.setattr(torch, "rand", lambda *shape, u=u, **_: torch.full((1,), u))
        assert sample_categorical(weights[None]).item() == expected


def test_frequencies():
    """Every entry within 5 standard errors, 100000 draws (fixed seed)."""
    weights, draws = torch.tensor([0.5, 0.01, 3.0, 1.49]), 100_000
    index = sample_categorical(weights.expand(draws, -1), torch.Generator().manual_seed(1))
    probs = weights.double() / 5
    counts = torch.bincount(index, minlength=4) / draws
    assert ((counts - probs).abs() < 5 * (probs * (1 - probs) / draws).sqrt()).all()


def test_nan_is_an_error_and_not_symbol_zero():
    with pytest.raises(ValueError, match="categorical draw are NaN"):
        sample_categorical(torch.tensor([[0.5, 0.5], [0.5, torch.nan]]))


def test_half_precision_weights_are_drawn_with_single_precision_uniforms():
    """bfloat16 uniforms are multiples of 1/256: they miss 0.1 by 0.002, 10 standard errors."""
    weights, draws = torch.tensor([0.1, 0.9], dtype=torch.bfloat16), 2_000_000
    index = sample_categorical(weights.expand(draws, -1), torch.Generator().manual_seed(1))
    p = float(weights[1].double() / weights.double().sum())
    assert abs(float(index.double().mean()) - p) < 5 * (p * (1 - p) / draws) ** 0.5
