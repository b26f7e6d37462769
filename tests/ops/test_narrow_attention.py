"""The narrow form of attention against the library's, and where it is not used."""

import pytest
import torch
from torch.nn import functional as F

from jumpbench.ops import narrow_attention
from jumpbench.ops.narrow_attention import attention


def heads(batch, number, length, width, scale=1.0, seed=0):
    """Queries, keys and values as views of one projection, as in a network."""
    generator = torch.Generator().manual_seed(seed)
    qkv = scale * torch.randn(batch, length, 3, number, width, generator=generator)
    return qkv.permute(2, 0, 3, 1, 4)


@pytest.mark.parametrize("shape", [(3, 4, 576, 8), (9, 2, 130, 4), (20, 3, 144, 8), (1, 1, 1, 8)])
@pytest.mark.parametrize("scale", [0.1, 1.0, 2.0])
def test_equals_the_librarys(shape, scale):
    q, k, v = heads(*shape, scale)
    with torch.no_grad():
        ours = attention(q, k, v)
    expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double())
    torch.testing.assert_close(ours.double(), expected, rtol=1e-5, atol=5e-6)


def test_scores_beyond_the_safe_range_take_the_librarys_way():
    """Scores of thousands: powers of two would overflow to NaN."""
    q, k, v = heads(2, 2, 140, 8, 40.0)
    with torch.no_grad():
        assert torch.equal(attention(q, k, v), F.scaled_dot_product_attention(q, k, v))


def test_with_a_gradient_it_is_the_librarys(monkeypatch):
    monkeypatch.setattr(narrow_attention, "_narrow_attention", None)
    q, k, v = heads(2, 2, 140, 8)
    attention(q.clone().requires_grad_(), k, v).sum().backward()
    with pytest.raises(TypeError), torch.no_grad():
        attention(q, k, v)
