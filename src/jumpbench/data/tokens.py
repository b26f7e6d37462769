"""Sequences of symbols as data: what binary images, melodies and DNA share."""

from abc import ABC, abstractmethod
from functools import partial

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.errors import UserError
from jumpbench.seeding import make_generator

Batch = dict[str, Tensor]


class TokenData(LightningDataModule, ABC):
    """Base of DataModules of sequences of fixed length over a fixed alphabet.

    A batch is a dict of tensors: ``states`` (B, D) ``long``, ``number`` (B,) the sequences' places
    in their split, and what else the data has (``labels``). Training batches are drawn with
    replacement by their number, so that a resumed run goes on where it stopped; test
    batches are the first ``test_size`` sequences of the test split from ``test_first`` on, in
    order, each ``test_repeats`` times in a row (several posterior samples of one measurement).

    Attributes:
        length, n_states: D and N.

    Raises:
        UserError: sizes below 1; more test sequences than there are.
    """

    length: int
    n_states: int

    def __init__(
        self,
        batch_size: int = 32,
        test_size: int = 100,
        test_batch_size: int = 100,
        seed: int = 0,
        test_first: int = 0,
        test_repeats: int = 1,
    ) -> None:
        super().__init__()
        if min(batch_size, test_size, test_batch_size, test_repeats) < 1 or test_first < 0:
            raise UserError(
                f"batch_size {batch_size}, test_size {test_size}, test_batch_size "
                f"{test_batch_size}, test_repeats {test_repeats}: all must be at least 1, and "
                f"test_first {test_first} at least 0"
            )
        self.test_first, self.test_repeats = test_first, test_repeats
        self.batch_size, self.test_size = batch_size, test_size
        self.test_batch_size, self.seed = test_batch_size, seed
        self._splits: dict[str, Batch] = {}

    @abstractmethod
    def load(self, split: str) -> Batch:
        """All of ``train`` or ``test``: ``states`` (n, D) in a small integer type, labels, ..."""

    def split(self, name: str) -> Batch:
        """The split, loaded once and checked."""
        if name not in self._splits:
            loaded = self.load(name)
            states = loaded["states"]
            if states.ndim != 2 or states.shape[1] != self.length:
                raise UserError(
                    f"{name} sequences are {tuple(states.shape)}, not (n, {self.length})"
                )
            if int(states.max()) >= self.n_states or int(states.min()) < 0:
                raise UserError(f"{name} sequences have symbols outside 0..{self.n_states - 1}")
            self._splits[name] = loaded
        return self._splits[name]

    def batch(self, split: str, numbers: Tensor) -> Batch:
        rows = {name: value[numbers] for name, value in self.split(split).items()}
        return rows | {"states": rows["states"].long(), "number": numbers}

    def train_batch(self, number: int, rank: int = 0) -> Batch:
        generator = make_generator(self.seed, "train", number, rank)
        size = len(self.split("train")["states"])
        return self.batch("train", torch.randint(size, (self.batch_size,), generator=generator))

    def train_dataloader(self) -> DataLoader:
        rank = self.trainer.global_rank if self.trainer is not None else 0
        make = partial(self.train_batch, rank=rank)
        return DataLoader(EndlessBatches(make, self.trainer), batch_size=None)

    def test_dataloader(self) -> DataLoader:
        available = len(self.split("test")["states"])
        if self.test_first + self.test_size > available:
            raise UserError(
                f"test_size={self.test_size} from {self.test_first} on, but there are {available} "
                "sequences"
            )
        total = self.test_size * self.test_repeats

        def make(number: int) -> Batch:
            first = number * self.test_batch_size
            last = min(first + self.test_batch_size, total)
            place = torch.arange(first, last) // self.test_repeats
            return self.batch("test", self.test_first + place)

        return numbered_loader(make, -(-total // self.test_batch_size), self.trainer)
