"""Lists of numbers to sort: four-digit images made from MNIST, and plain scalars."""

from pathlib import Path

import torch
from torch import Tensor

from jumpbench.data.lists import Batch, ListData, shuffles
from jumpbench.data.mnist import generated_digits, load_mnist
from jumpbench.errors import UserError


class SortDigits(ListData):
    """Lists of ``length`` images (1, 28, 28 * digits) of numbers of MNIST digits, ascending.

    Digits are drawn uniformly with replacement for every list; pixels are in [0, 1]. Training
    digits come from MNIST's train split, test digits from its test split. Numbers that are equal
    have an arbitrary order that nobody can know, and share a group.

    Args:
        digits: digits of a number (4), most significant first.
        held_out: the last training images, kept for validation lists instead of training.
        generated: use that many generated digits instead of MNIST (smoke runs; no files needed).
        root: data root.
    """

    def __init__(
        self,
        length: int,
        train_batch_size: int = 64,
        n_samples: int = 10000,
        batch_size: int = 64,
        valid_size: int = 0,
        seed: int = 0,
        digits: int = 4,
        held_out: int = 0,
        generated: int | None = None,
        root: str | Path | None = None,
    ) -> None:
        super().__init__(length, train_batch_size, n_samples, batch_size, valid_size, seed)
        if valid_size and not held_out:
            raise UserError("validation lists need digits of their own: set held_out > 0")
        self.digits = digits
        self.held_out = held_out
        self.generated = generated
        self.root = root
        self._ranges: dict[str, tuple[int, int]] = {}
        self._tables: dict[str, Tensor] = {}

    def setup(self, stage: str | None = None) -> None:
        if self._tables:
            return
        if self.generated:
            train = generated_digits(self.generated, seed=0)
            test = generated_digits(self.generated, seed=1)
        else:
            train, test = load_mnist(True, self.root), load_mnist(False, self.root)
        size = len(train[1])
        if not 0 <= self.held_out < size:
            raise UserError(f"held_out={self.held_out}, but there are only {size} training digits")
        self._ranges = {
            "train": (0, size - self.held_out),
            "valid": (size - self.held_out, size),
            "test": (size, size + len(test[1])),
        }
        self._tables = {
            "images": torch.cat([train[0], test[0]]),
            "labels": torch.cat([train[1], test[1]]),
        }

    def tables(self) -> dict[str, Tensor]:
        return self._tables

    def draw(self, split: str, size: int, generator: torch.Generator, first: int) -> Batch:
        low, high = self._ranges[split]
        shape = (size, self.length, self.digits)
        digits = torch.randint(low, high, shape, generator=generator, dtype=torch.int32)
        return {"digits": digits, "ties": shuffles(size, self.length, generator)}

    def assemble(self, draw: Batch, tables: dict[str, Tensor]) -> Batch:
        index = draw["digits"].long()
        pictures = tables["images"][index]  # (B, n, digits, 28, 28)
        wide = pictures.transpose(2, 3).flatten(3).unsqueeze(2)  # (B, n, 1, 28, 28 * digits)
        place = 10 ** torch.arange(self.digits - 1, -1, -1, device=index.device)
        values = (tables["labels"][index].long() * place).sum(-1)
        return {"objects": wide.float() / 255, **sorted_list(values, draw["ties"])}


class SortScalars(ListData):
    """Lists of ``length`` uniform scalars, objects (B, n, 1): the sorting task without images."""

    def __init__(
        self,
        length: int,
        train_batch_size: int = 128,
        n_samples: int = 2000,
        batch_size: int = 500,
        valid_size: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(length, train_batch_size, n_samples, batch_size, valid_size, seed)

    def draw(self, split: str, size: int, generator: torch.Generator, first: int) -> Batch:
        values = torch.rand(size, self.length, generator=generator)
        ties = shuffles(size, self.length, generator)
        return {"objects": values.unsqueeze(-1), **sorted_list(values, ties)}


def sorted_list(values: Tensor, ties: Tensor) -> Batch:
    """``order`` and ``groups`` of lists of numbers (B, n), ascending; ties share a group.

    Equal numbers stand in the order in which ``ties`` (B, n), a random permutation of each list,
    names them. The order of presentation would be one that a stable sort knows.
    """
    order = ties.gather(-1, values.gather(-1, ties).argsort(dim=-1, stable=True))
    ordered = values.gather(-1, order)
    steps = (ordered[:, 1:] != ordered[:, :-1]).long().cumsum(-1)
    ranks = torch.cat([torch.zeros_like(steps[:, :1]), steps], dim=-1)
    return {"order": order, "groups": torch.empty_like(order).scatter_(-1, order, ranks)}
