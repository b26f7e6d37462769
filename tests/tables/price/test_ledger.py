"""Counted work against closed forms, against torch's counter on real tensors, and each other."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from jumpbench.tables.price.ledger import Ledger, TooLong
from jumpbench.tables.price.operators import HEAD, kind_of
from jumpbench.tables.price.repeated import counting_saved, traced_once

B, D, H = 5, 16, 32


class Block(nn.Module):
    """Attention over all sites, and a perceptron."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.up, self.down = nn.Linear(D, H), nn.Linear(H, D)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        x = x + self.out((q @ k.mT).softmax(-1) @ v)
        return x + self.down(F.gelu(self.up(x)))


def counted(function):
    ledger = Ledger(30.0)
    with ledger:
        function()
    return ledger.work


def test_a_linear_layer_takes_two_operations_a_weight_and_row():
    layer, x = nn.Linear(D, H, device="meta"), torch.empty(B, D, device="meta")
    assert counted(lambda: layer(x)).flops == 2 * B * D * H
    backward = counted(lambda: layer(x).sum().backward()).flops  # of the weight alone
    assert backward == 2 * 2 * B * D * H
    x.requires_grad_()
    assert counted(lambda: layer(x).sum().backward()).flops == 3 * 2 * B * D * H


def test_a_transformer_takes_its_closed_form_and_what_torch_counts_on_real_tensors():
    length = 7
    network, x = Block(), torch.randn(B, length, D)
    rows = B * length
    linear = 2 * rows * (D * 3 * D + D * D + 2 * D * H)
    attention = 2 * 2 * B * length * length * D
    hollow = Block().to("meta")
    work = counted(lambda: hollow(x.to("meta")).sum().backward())
    # Backward: both factors of a product, but the input of the first layer.
    assert work.flops == 3 * (linear + attention) - 2 * rows * D * 3 * D
    with FlopCounterMode(display=False) as counter:
        network(x).sum().backward()
    assert work.flops == counter.get_total_flops()


def test_convolutions_bytes_and_elements_are_counted_apart():
    x = torch.empty(2, 3, 8, 8, device="meta")
    layer = nn.Conv2d(3, 4, 3, padding=1, device="meta")
    forward = counted(lambda: layer(x))
    assert forward.convolved == 2 * 2 * 4 * 64 * 3 * 9
    assert forward.windowed == 2 * 4 * 64  # the larger of its two sides
    both = counted(lambda: layer(x).sum().backward())
    assert (both.convolved, both.windowed) == (2 * forward.convolved, 2 * forward.windowed)
    assert counted(lambda: nn.functional.max_pool2d(x, 2)).windowed == x.numel()
    work = counted(lambda: x + x)
    assert (work.bytes, work.operators, work.flops) == (3 * 4 * x.numel(), 1, 0)
    assert counted(lambda: x.view(-1)[None]).bytes == 0
    assert counted(lambda: x.exp()).slow == x.numel()
    assert counted(lambda: torch.rand(10, device="meta")).random == 10
    assert counted(lambda: x.exponential_()).drawn == x.numel()
    assert counted(lambda: x.flatten().sort()).gathered == x.numel()
    assert kind_of("index_select") == "gathered" and kind_of("add") == ""


def test_attention_counts_its_scores():
    def scores(sites, batch=5, heads=2):
        q = torch.empty(batch, heads, sites, 8, device="meta", requires_grad=True)
        forward = counted(lambda: F.scaled_dot_product_attention(q, q, q)).attended
        both = counted(lambda: F.scaled_dot_product_attention(q, q, q).sum().backward()).attended
        assert both == 3.5 * forward
        return forward / (batch * heads)

    assert scores(64) == 64**2 and scores(10) == HEAD


def test_a_module_is_traced_once_and_counted_each_time():
    def twice():
        network, x = Block().to("meta"), torch.empty(B, 7, D, device="meta", requires_grad=True)
        for _ in range(2):
            out = network(x)
            assert out.shape == x.shape and out.requires_grad
            out.sum().backward()
            assert x.grad.shape == x.shape and network.up.weight.grad is not None

    plain = counted(twice)
    ledger = Ledger(30.0)
    with ledger, counting_saved(ledger.work, []), traced_once(ledger):
        twice()
    assert ledger.work.flops == plain.flops and ledger.work.saved > 0
    assert ledger.work.bytes == pytest.approx(plain.bytes, rel=0.1)


def test_what_is_asked_about_values_is_answered_and_real_ones_stay():
    x = torch.empty(4, 3, device="meta")

    def ask():
        grid = torch.linspace(0, 1, 3)
        assert grid[1].item() == 0.5
        assert bool((x > 0).all()) and not bool((x > 0).any()) and x.sum().item() == 1.0
        assert x[x[:, 0] > 0].shape == (4, 3)
        assert torch.rand(5, generator=torch.Generator()).is_meta

    counted(ask)
    with pytest.raises(TooLong), Ledger(-1.0):
        x + x
