"""A small convolutional classifier whose penultimate layer serves as image features."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ImageClassifier(nn.Module):
    """Two 3 x 3 convolutions with pooling, a hidden layer of features, a linear layer of classes.

    Args:
        channels: C of the images (B, C, H, W), integers 0..maximum.
        size: H = W.
        maximum: pixels are divided by it.
        classes: number of classes.
        width: channels of the first convolution, half of those of the second.
        features: size of the penultimate layer.
    """

    def __init__(
        self,
        channels: int = 1,
        size: int = 16,
        maximum: int = 1,
        classes: int = 10,
        width: int = 16,
        features: int = 64,
        dropout: float = 0.25,
    ) -> None:
        super().__init__()
        self.maximum = maximum
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(dropout),
        )  # fmt: skip
        self.hidden = nn.Linear(2 * width * (size // 4) ** 2, features)
        self.classes = nn.Linear(features, classes)

    def features(self, images: Tensor) -> Tensor:
        """(B, features), after the rectifier."""
        return F.relu(self.hidden(self.body(images.float() / self.maximum)))

    def forward(self, images: Tensor) -> Tensor:
        """Logits (B, classes)."""
        return self.classes(self.features(images))

    @torch.no_grad()
    def judged(self, images: Tensor, batch: int = 1000) -> tuple[Tensor, Tensor]:
        """Features (N, features) and class probabilities (N, classes) of images (N, C, H, W)."""
        self.eval()
        device = next(self.parameters()).device
        parts = []
        for part in images.split(batch):
            rows = self.features(part.to(device))
            parts.append((rows.cpu(), self.classes(rows).softmax(-1).cpu()))
        features, probabilities = zip(*parts, strict=True)
        return torch.cat(features), torch.cat(probabilities)
