"""Images as counts: MNIST in bits or greys, CIFAR-10, CelebA, any folder of pictures."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate, pad

from jumpbench.data.celeba import load_celeba
from jumpbench.data.cifar10 import load_cifar10
from jumpbench.data.counts import CountData
from jumpbench.data.mnist import generated_digits, load_mnist
from jumpbench.data.pictures import load_pictures
from jumpbench.errors import UserError
from jumpbench.seeding import make_generator


class Images(CountData):
    """Counts (N, C, size, size).

    Args:
        size: pixels a side.
        generated: this many generated pictures instead of the dataset, half of them held out
            (smoke runs and tests).
        root: where the data lie (default: ``JUMPBENCH_DATA``).
        options: of :class:`~jumpbench.data.counts.CountData`.
    """

    channels: int
    classes: int | None = 10

    def __init__(
        self,
        size: int,
        generated: int | None = None,
        root: str | Path | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.size, self.generated, self.root = size, generated, root
        self._loaded: dict[bool, tuple[Tensor, Tensor | None]] = {}

    @abstractmethod
    def load(self, train: bool) -> tuple[Tensor, Tensor | None]:
        """Images as published and their labels."""

    @abstractmethod
    def pixels(self, images: Tensor) -> Tensor:
        """Counts (N, C, size, size) from images as published."""

    def _part(self, train: bool) -> tuple[Tensor, Tensor | None]:
        if train not in self._loaded:
            images, labels = self.load(train)
            self._loaded[train] = self.pixels(images), labels
        return self._loaded[train]

    def counts(self, train: bool) -> Tensor:
        return self._part(train)[0]

    def labels(self, train: bool) -> Tensor | None:
        return self._part(train)[1]


class BinarisedMnist(Images):
    """MNIST at 32 or 16 pixels, 1 where the resized grey value is above 127.5.

    Resized first and with real values: bilinear to 32 x 32, and for 16 x 16 the mean of every
    2 x 2 of those. Deterministic; not one of the stochastically binarised MNIST files.
    """

    maximum = 1
    channels = 1

    def __init__(self, size: int = 32, **options: Any) -> None:
        if size not in (16, 32):
            raise UserError(f"size={size}: binarised MNIST is made at 16 or 32 pixels")
        super().__init__(size, **options)

    def load(self, train: bool) -> tuple[Tensor, Tensor | None]:
        if self.generated is not None:
            images, labels = generated_digits(self.generated, seed=int(train))
            return images, labels
        return load_mnist(train, self.root)

    def pixels(self, images: Tensor) -> Tensor:
        parts = []
        for part in images.split(4096):
            grey = interpolate(part.unsqueeze(1).float(), size=(32, 32), mode="bilinear")
            grey = avg_pool2d(grey, 32 // self.size) if self.size < 32 else grey
            parts.append((grey > 127.5).to(torch.uint8))
        return torch.cat(parts)


class GreyMnist(Images):
    """MNIST in 256 greys with a border of two pixels of 0: 32 x 32, or rounded means of 2 x 2.

    Args:
        size: 32 or 16.
        options: of :class:`Images`.
    """

    maximum = 255
    channels = 1

    def __init__(self, size: int = 32, **options: Any) -> None:
        if size not in (16, 32):
            raise UserError(f"size={size}: grey MNIST is used at 32 or 16 pixels")
        super().__init__(size, **options)

    def load(self, train: bool) -> tuple[Tensor, Tensor | None]:
        if self.generated is not None:
            return generated_digits(self.generated, seed=int(train))
        return load_mnist(train, self.root)

    def pixels(self, images: Tensor) -> Tensor:
        return shrunk(pad(images, (2, 2, 2, 2)).unsqueeze(1), self.size)


class Pictures(Images):
    """Colour pictures of any size from a folder of the data root, such as ``ffhq``.

    In the order of their names: centre crop to a square, resized with antialiasing, rounded. The
    last ``held_out`` are the test images.

    Args:
        folder: name of the folder under the data root; PNG or JPEG files, in subfolders or not.
        held_out: how many.
    """

    maximum = 255
    channels = 3
    classes = None

    def __init__(
        self, size: int = 256, folder: str = "ffhq", held_out: int = 100, **options: Any
    ) -> None:
        super().__init__(size, **options)
        self.folder, self.held_out = folder, held_out

    def load(self, train: bool) -> tuple[Tensor, Tensor | None]:
        if self.generated is not None:
            return generated_pictures(self.generated, self.size, seed=int(train))[0], None
        return load_pictures(self.folder, train, self.size, self.held_out, self.root), None

    def pixels(self, images: Tensor) -> Tensor:
        return images


class Cifar10(Images):
    """CIFAR-10 as it is (0..255), or smaller: means of squares of pixels, rounded.

    Args:
        size: 32, 16 or 8.
        options: of :class:`Images`.
    """

    maximum = 255
    channels = 3

    def __init__(self, size: int = 32, **options: Any) -> None:
        if size not in (8, 16, 32):
            raise UserError(f"size={size}: CIFAR-10 is used at 32, 16 or 8 pixels")
        super().__init__(size, **options)

    def load(self, train: bool) -> tuple[Tensor, Tensor | None]:
        if self.generated is not None:
            return generated_pictures(self.generated, 32, seed=int(train))
        return load_cifar10(train, self.root)

    def pixels(self, images: Tensor) -> Tensor:
        return shrunk(images, self.size)


class CelebA(Images):
    """Aligned CelebA: centre 140 x 140, resized with antialiasing, rounded; the training split.

    The paper's own array of 64 x 64 images is not published; this is the usual recipe.
    """

    maximum = 255
    channels = 3
    classes = None

    def __init__(self, size: int = 64, **options: Any) -> None:
        super().__init__(size, **options)

    def load(self, train: bool) -> tuple[Tensor, Tensor | None]:
        if self.generated is not None:
            return generated_pictures(self.generated, self.size, seed=int(train))[0], None
        return load_celeba(train, self.size, self.root), None

    def pixels(self, images: Tensor) -> Tensor:
        return images


def shrunk(images: Tensor, size: int) -> Tensor:
    """uint8 (N, C, H, H) -> (N, C, size, size): rounded means of squares."""
    factor = images.shape[-1] // size
    if factor == 1:
        return images
    parts = (avg_pool2d(part.float(), factor).round() for part in images.split(4096))
    return torch.cat([part.to(torch.uint8) for part in parts])


def generated_pictures(count: int, size: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Smooth coloured blobs, uint8 (count, 3, size, size), labelled by their dominant colour."""
    generator = make_generator(seed, "generated pictures")
    coarse = torch.rand(count, 3, 4, 4, generator=generator)
    labels = coarse.mean((2, 3)).argmax(1)
    images = interpolate(coarse, size=(size, size), mode="bilinear", align_corners=True)
    return (255 * images).round().to(torch.uint8), labels
