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
    batches are ``n_samples`` rows: the sequences of the test split from ``test_first`` on, in
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
        train_batch_size: int = 32,
        n_samples: int = 100,
        batch_size: int = 100,
        seed: int = 0,
        test_first: int = 0,
        test_repeats: int = 1,
    ) -> None:
        super().__init__()
        if min(train_batch_size, n_samples, batch_size, test_repeats) < 1 or test_first < 0:
            raise UserError(
                f"train_batch_size {train_batch_size}, n_samples {n_samples}, batch_size "
                f"{batch_size}, test_repeats {test_repeats}: all must be at least 1, and "
                f"test_first {test_first} at least 0"
            )
        self.test_first, self.test_repeats = test_first, test_repeats
        self.train_batch_size, self.n_samples = train_batch_size, n_samples
        self.batch_size, self.seed = batch_size, seed
        self._splits: dict[str, Batch] = {}

    @abstractmethod
    def load(self, split: str) -> Batch:
        """All of ``train`` or ``test``: ``states`` (n, D) in a small integer type, labels, ..."""

    def split(self, name: str) -> Batch:
        """The split, loaded once and checked."""
        if name not in self._splits:
            loaded = self.load(name)
            states = loaded.get("states")
            if not isinstance(states, Tensor) or states.is_floating_point() or not len(states):
                raise UserError(
                    f"{type(self).__name__}.load('{name}') must return 'states', an integer tensor "
                    f"(n, {self.length}) of n >= 1 sequences"
                )
            for key, value in loaded.items():
                if len(value) != len(states):
                    raise UserError(f"{name}: {len(value)} {key} for {len(states)} sequences")
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
        numbers = torch.randint(size, (self.train_batch_size,), generator=generator)
        return self.batch("train", numbers)

    def train_dataloader(self) -> DataLoader:
        rank = self.trainer.global_rank if self.trainer is not None else 0
        make = partial(self.train_batch, rank=rank)
        return DataLoader(EndlessBatches(make, self.trainer), batch_size=None)

    def test_dataloader(self) -> DataLoader:
        available = len(self.split("test")["states"])
        wanted = -(-self.n_samples // self.test_repeats)
        if self.test_first + wanted > available:
            raise UserError(
                f"n_samples={self.n_samples} of {wanted} sequences from {self.test_first} on, but "
                f"there are {available}"
            )
        total = self.n_samples

        def make(number: int) -> Batch:
            first = number * self.batch_size
            last = min(first + self.batch_size, total)
            place = torch.arange(first, last) // self.test_repeats
            return self.batch("test", self.test_first + place)

        return numbered_loader(make, -(-total // self.batch_size), self.trainer)
