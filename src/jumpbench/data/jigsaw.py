"""Jigsaws: images cut into p x p pieces, presented in random order."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumpbench.data.cifar10 import load_cifar10
from jumpbench.data.lists import Batch, EpochOrder, ListData, shuffles, take_rows
from jumpbench.data.mnist import generated_digits, load_mnist
from jumpbench.errors import UserError
from jumpbench.seeding import make_generator

# Used by the paper's code; not the pixel standard deviation of CIFAR-10 (0.247, 0.244, 0.262).
CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR_STD = (0.2023, 0.1994, 0.2010)
MNIST_STD = 0.3081


class Jigsaw(ListData):
    """Base: ``pieces`` x ``pieces`` squares of floor(image / pieces) pixels, row-major.

    The grid starts at the top left; rows and columns that remain at the right and bottom are
    dropped. ``objects`` are float (B, n, C, s, s) as fed to the network. Batches also hold ``unit``
    and ``normalised`` (B, C): the factors that take a difference of fed pixels to one of pixels in
    [0, 1] and to one of standardised pixels. ``generated``: use that many generated pictures
    instead of the dataset (smoke runs; no files needed).

    Raises:
        UserError: the image cannot be cut into that many pieces.
    """

    channels: int
    side: int
    unit: Tensor
    normalised: Tensor

    def __init__(
        self,
        pieces: int,
        train_batch_size: int = 64,
        n_samples: int = 10000,
        batch_size: int = 64,
        valid_size: int = 0,
        seed: int = 0,
        held_out: int = 0,
        generated: int | None = None,
        root: str | Path | None = None,
    ) -> None:
        if not 2 <= pieces <= self.side // 2:
            raise UserError(
                f"pieces={pieces}: an image of {self.side} pixels can be cut into 2 to "
                f"{self.side // 2} pieces a side (two pixels at least)"
            )
        super().__init__(pieces**2, train_batch_size, n_samples, batch_size, valid_size, seed)
        if valid_size > held_out:
            raise UserError(f"{valid_size} validation lists need held_out >= {valid_size} images")
        self.pieces = pieces
        self.held_out = held_out
        self.generated = generated
        self.root = root
        self._offset: dict[str, int] = {}
        self._tables: dict[str, Tensor] = {}

    @abstractmethod
    def images(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Train and test images (N, C, H, W), and which of their pixels are not empty (bool)."""

    def feed(self, pieces: Tensor, tables: dict[str, Tensor]) -> Tensor:
        """Pixels as the network gets them, of pixels (..., C, s, s) as :meth:`images` has them."""
        return pieces

    def setup(self, stage: str | None = None) -> None:
        if self._tables:
            return
        train, test, train_ink, test_ink = self.images()
        if self.n_samples > len(test):
            raise UserError(f"n_samples={self.n_samples}, but there are {len(test)} test images")
        if not 0 <= self.held_out < len(train):
            raise UserError(f"held_out={self.held_out}, but there are {len(train)} training images")
        self._offset = {"valid": len(train) - self.held_out, "test": len(train)}
        self._epochs = EpochOrder(len(train) - self.held_out, self.seed)
        ink = torch.cat([cut(train_ink, self.pieces), cut(test_ink, self.pieces)])
        self._tables = {"images": torch.cat([train, test]), "inked": ink.flatten(2).any(-1)}

    def tables(self) -> dict[str, Tensor]:
        return self._tables

    def draw(self, split: str, size: int, generator: torch.Generator, first: int) -> Batch:
        if split == "train":
            index = self._epochs.take(first, size)
        else:
            index = torch.arange(first, first + size) + self._offset[split]
        return {"index": index, "shuffle": shuffles(size, self.length, generator)}

    def assemble(self, draw: Batch, tables: dict[str, Tensor]) -> Batch:
        index, shuffle = draw["index"], draw["shuffle"]
        place = torch.arange(self.length, device=index.device)
        groups = torch.where(tables["inked"][index], place, self.length)
        pieces = take_rows(cut(tables["images"][index], self.pieces), shuffle)
        return {
            "objects": self.feed(pieces, tables),
            "order": shuffle.argsort(-1),
            "groups": groups.gather(-1, shuffle),
            "unit": self.unit.to(index.device).expand(len(index), -1),
            "normalised": self.normalised.to(index.device).expand(len(index), -1),
        }


class NoisyMnistJigsaw(Jigsaw):
    """MNIST pixels in [0, 1] plus Normal(0, noise^2) noise that is drawn once, by a fixed seed.

    Pieces without ink carry noise only and share a group: nobody can order them.
    """

    channels, side = 1, 28
    unit = torch.ones(1)
    normalised = torch.full((1,), 1 / MNIST_STD)

    def __init__(self, pieces: int, noise: float = 0.01, **options: Any) -> None:
        super().__init__(pieces, **options)
        self.noise = noise

    def images(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if self.generated:
            splits = [generated_digits(self.generated, seed=seed)[0] for seed in (0, 1)]
        else:
            splits = [load_mnist(train, self.root)[0] for train in (True, False)]
        fed = []
        for name, pixels in zip(("train", "test"), splits, strict=True):
            clean = pixels.unsqueeze(1).float() / 255
            generator = make_generator(0, "mnist noise", name)
            fed.append(clean + self.noise * torch.randn(clean.shape, generator=generator))
        return fed[0], fed[1], splits[0].unsqueeze(1) > 0, splits[1].unsqueeze(1) > 0


class Cifar10Jigsaw(Jigsaw):
    """CIFAR-10, pixels standardised per channel with the constants of the paper's code."""

    channels, side = 3, 32
    unit = torch.tensor(CIFAR_STD)
    normalised = torch.ones(3)

    def images(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if self.generated:
            train, test = (coloured_digits(self.generated, seed) for seed in (0, 1))
        else:
            train, test = (load_cifar10(train, self.root)[0] for train in (True, False))
        ink = torch.ones(1, 1, 32, 32, dtype=torch.bool)
        return train, test, ink.expand(len(train), -1, -1, -1), ink.expand(len(test), -1, -1, -1)

    def tables(self) -> dict[str, Tensor]:
        scale = {"mean": torch.tensor(CIFAR_MEAN), "std": torch.tensor(CIFAR_STD)}
        return {**super().tables(), **{name: c.view(3, 1, 1) for name, c in scale.items()}}

    def feed(self, pieces: Tensor, tables: dict[str, Tensor]) -> Tensor:
        return (pieces.float() / 255 - tables["mean"]) / tables["std"]


def coloured_digits(size: int, seed: int) -> Tensor:
    """Generated digits in CIFAR-10's shape, uint8 (size, 3, 32, 32): bright, dim and inverted."""
    digits = torch.nn.functional.pad(generated_digits(size, seed)[0], (2, 2, 2, 2))
    return torch.stack([digits, digits // 2, 255 - digits], dim=1)


def cut(images: Tensor, pieces: int) -> Tensor:
    """Pieces (B, pieces^2, C, s, s), row-major, of images (B, C, H, W); s = floor(H / pieces)."""
    side = images.shape[-1] // pieces
    blocks = images.unfold(2, side, side).unfold(3, side, side)[:, :, :pieces, :pieces]
    return blocks.permute(0, 2, 3, 1, 4, 5).flatten(1, 2)
