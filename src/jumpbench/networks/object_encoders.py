"""Encoders of the objects of a list: (B, n, ...) -> (B, n, d), each object by itself."""

import math

import torch
from torch import Tensor, nn

from jumpbench.networks.embeddings import interleaved_sin_cos, sinusoidal_features


class NumberEncoder(nn.Module):
    """Images (B, n, 1, height, width) of numbers -> tokens (SymmetricDiffusers, Table 10).

    conv - BN - pool - ReLU twice, then ``hidden`` is None: one linear layer (the authors' code,
    1,658,048 parameters at the defaults), else linear - ReLU - linear with that hidden width
    (the printed table: 6336).
    """

    def __init__(
        self,
        dim: int = 128,
        channels: tuple[int, int] = (32, 64),
        kernel: int = 5,
        image: tuple[int, int] = (28, 112),
        hidden: int | None = None,
    ) -> None:
        super().__init__()
        self.image = tuple(image)
        flat = channels[1] * (image[0] // 4) * (image[1] // 4)
        self.convolutions = nn.Sequential(
            *_convolution(1, channels[0], kernel), *_convolution(*channels, kernel), nn.Flatten()
        )
        self.head = _head(flat, hidden, dim)

    def forward(self, objects: Tensor) -> Tensor:
        check_objects(objects, (1, *self.image))
        features = self.convolutions(channels_last(objects.flatten(0, 1)))
        return self.head(features).unflatten(0, objects.shape[:2])


class DigitwiseEncoder(nn.Module):
    """Images of numbers, read digit by digit with one small network: for runs on a CPU.

    Every digit passes the same conv - BN - pool - ReLU twice and a linear layer to ``features``;
    the features of a number's digits are joined by a linear layer. Not the paper's encoder: that
    one convolves the whole image and learns each position apart.
    """

    def __init__(
        self,
        dim: int = 128,
        channels: tuple[int, int] = (8, 16),
        kernel: int = 5,
        features: int = 32,
        digits: int = 4,
        side: int = 28,
    ) -> None:
        super().__init__()
        self.digits, self.side = digits, side
        self.trunk = nn.Sequential(
            nn.AvgPool2d(2),
            *_convolution(1, channels[0], kernel),
            *_convolution(*channels, 3),
            nn.Flatten(),
            nn.Linear(channels[1] * (side // 8) ** 2, features),
            nn.ReLU(),
        )
        self.join = nn.Linear(digits * features, dim)

    def forward(self, objects: Tensor) -> Tensor:
        check_objects(objects, (1, self.side, self.digits * self.side))
        pictures = objects.unflatten(-1, (self.digits, self.side)).transpose(-2, -3)
        features = self.trunk(channels_last(pictures.reshape(-1, 1, self.side, self.side)))
        return self.join(features.view(*objects.shape[:2], -1))


class PieceEncoder(nn.Module):
    """Square pieces (B, n, C, s, s) -> tokens, s = floor(image / pieces).

    conv 3x3 - BN - pool (floor) - ReLU, flatten to D, linear to (D + dim) // 2 - ReLU - linear to
    dim (SymmetricDiffusers, Table 8).
    """

    def __init__(
        self, image: int, pieces: int, channels: int = 1, dim: int = 128, filters: int = 32
    ) -> None:
        super().__init__()
        side = image // pieces
        self.shape = (channels, side, side)
        flat = filters * (side // 2) ** 2
        self.convolutions = nn.Sequential(*_convolution(channels, filters, 3), nn.Flatten())
        self.head = _head(flat, (flat + dim) // 2, dim)

    def forward(self, objects: Tensor) -> Tensor:
        check_objects(objects, self.shape)
        features = self.convolutions(channels_last(objects.flatten(0, 1)))
        return self.head(features).unflatten(0, objects.shape[:2])


class ScalarEncoder(nn.Sequential):
    """Scalars (B, n, 1) -> linear - ReLU - linear."""

    def __init__(self, dim: int, inputs: int = 1) -> None:
        super().__init__(nn.Linear(inputs, dim), nn.ReLU(), nn.Linear(dim, dim))


class IntegerEncoder(nn.Embedding):
    """Integers (B, n) in 0..count-1 -> a learned vector each."""

    def __init__(self, count: int, dim: int) -> None:
        super().__init__(count, dim)


class PointFeatures(nn.Module):
    """Points (B, n, k) -> sines and cosines of 2 pi z, dim / k channels per coordinate.

    Channel 2c / 2c+1 of a coordinate z is sin / cos of 2 pi z / 10000^(2c k / dim). No parameters.
    """

    def __init__(self, dim: int = 256) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, points: Tensor) -> Tensor:
        per_coordinate = self.dim // points.shape[-1]
        angles = 2 * math.pi * points
        return sinusoidal_features(angles, per_coordinate, interleaved_sin_cos).flatten(-2)


def channels_last(images: Tensor) -> Tensor:
    """The same images (N, C, H, W), channels innermost in memory: convolutions are faster so.

    By copying, because one channel counts as laid out in either way already.
    """
    return images.movedim(1, -1).clone(memory_format=torch.contiguous_format).movedim(-1, 1)


def _convolution(inputs: int, outputs: int, kernel: int) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2),
        nn.BatchNorm2d(outputs),
        nn.MaxPool2d(2),
        nn.ReLU(),  # after the pool, which it commutes with: a quarter of the work
    ]


def _head(inputs: int, hidden: int | None, outputs: int) -> nn.Module:
    if hidden is None:
        return nn.Linear(inputs, outputs)
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def check_objects(objects: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse lists (B, n, ...) of objects of another shape than the encoder's.

    Raises:
        ValueError: the shape is another one.
    """
    if objects.dim() != 2 + len(shape) or objects.shape[2:] != torch.Size(shape):
        raise ValueError(
            f"the encoder reads lists of objects of shape {shape}, not {tuple(objects.shape[2:])}: "
            "give it the sizes of the data"
        )
