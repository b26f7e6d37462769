"""The small classifier of binary digits that judges SGDD's reconstructions."""

import torch
from torch import Tensor, nn


class DigitClassifier(nn.Module):
    """3x3 convolution to 16 channels, ReLU, 2x2 maximum, linear: logits (B, 10) of bits (B, D).

    With 32 x 32 pixels 41,130 parameters (SGDD's code). ``features`` is the input of the last
    layer, 4,096 numbers at that size.
    """

    def __init__(self, side: int, classes: int = 10) -> None:
        super().__init__()
        self.side = side
        self.convolution = nn.Conv2d(1, 16, 3, padding=1)
        self.linear = nn.Linear(16 * (side // 2) ** 2, classes)

    def features(self, x: Tensor) -> Tensor:
        image = x.view(-1, 1, self.side, self.side).to(self.linear.weight.dtype)
        return torch.max_pool2d(torch.relu(self.convolution(image)), 2).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.features(x))
