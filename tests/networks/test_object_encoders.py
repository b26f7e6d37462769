"""Image encoders: layout and order of operations change nothing but the time."""

import pytest
import torch
from torch import nn

from jumpbench.networks.object_encoders import (
    DigitwiseEncoder,
    NumberEncoder,
    PieceEncoder,
    channels_last,
)

ENCODERS = {
    "number": (lambda: NumberEncoder(8, channels=(3, 4)), (2, 3, 1, 28, 112)),
    "digits": (lambda: DigitwiseEncoder(8), (2, 3, 1, 28, 112)),
    "pieces": (lambda: PieceEncoder(32, 3, 3, 8), (2, 9, 3, 10, 10)),
}


@pytest.mark.parametrize(("make", "shape"), ENCODERS.values(), ids=ENCODERS)
def test_pooling_before_the_relu_is_the_same_to_the_last_bit(make, shape):
    torch.manual_seed(0)
    encoder, objects = make(), torch.randn(shape)
    trunk = encoder.trunk if hasattr(encoder, "trunk") else encoder.convolutions
    pools = [i for i, layer in enumerate(trunk) if isinstance(layer, nn.MaxPool2d)]
    assert pools and all(isinstance(trunk[i + 1], nn.ReLU) for i in pools)
    found = encoder(objects)
    found.square().sum().backward()
    gradient = [p.grad.clone() for p in encoder.parameters()]
    encoder.zero_grad()
    for i in pools:  # the order of the paper's table
        trunk[i], trunk[i + 1] = trunk[i + 1], trunk[i]
    printed = encoder(objects)
    printed.square().sum().backward()
    assert torch.equal(found, printed)
    assert all(map(torch.equal, gradient, (p.grad for p in encoder.parameters())))


def test_channels_last_moves_memory_and_no_number():
    for channels in (1, 3):
        images = torch.randn(2, channels, 4, 5)
        moved = channels_last(images)
        assert torch.equal(images, moved) and moved.stride(1) == 1 and moved.stride(3) == channels
