"""DataModules of counts 0..M: images, histograms, spectra, one's own."""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.data.lists import EpochOrder
from jumpbench.errors import UserError
from jumpbench.seeding import make_generator

Batch = dict[str, Any]


class CountData(LightningDataModule, ABC):
    """Base: a subclass says what ``maximum`` is and returns its :meth:`counts`.

    Batches are dicts on the method's device: ``counts`` (B, ...) and, where there are any,
    ``labels`` long (B,). The loaders yield indices, and the data themselves are copied to a device
    once, as bytes where M < 256. Batch i of a seed is the same whenever it is made, so a resumed
    run continues with the batch after the last step it took.

    Args:
        train_batch_size: training batch; epochs follow one another without a short last batch.
        n_samples: how many of the held-out counts are test batches (0: all).
        batch_size: of these batches.
        flip: mirror the last axis of half of the training counts.
        seed: of the order of training and of the mirroring.

    Raises:
        UserError: no integers, values outside 0..M, no rows, not as many labels as counts.
    """

    maximum: int

    def __init__(
        self,
        train_batch_size: int = 64,
        n_samples: int = 0,
        batch_size: int = 500,
        flip: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if train_batch_size < 1 or batch_size < 1 or n_samples < 0:
            raise UserError("batch sizes are at least 1 and n_samples at least 0")
        self.train_batch_size, self.n_samples = train_batch_size, n_samples
        self.batch_size, self.flip, self.seed = batch_size, flip, seed
        self._tables: dict[str, Tensor] = {}
        self._resident: dict[torch.device, dict[str, Tensor]] = {}

    @abstractmethod
    def counts(self, train: bool) -> Tensor:
        """Integers (N, ...) in 0..M of the training or the held-out part."""

    def labels(self, train: bool) -> Tensor | None:
        """Classes (N,), where there are any."""
        return None

    def setup(self, stage: str | None = None) -> None:
        if self._tables:
            return
        for train in (True, False):
            part = "train" if train else "test"
            self._tables[part] = checked(self.counts(train), self.maximum, part)
            if (labels := self.labels(train)) is not None:
                if len(labels) != (rows := len(self._tables[part])):
                    raise UserError(f"{part}: {len(labels)} labels for {rows} counts")
                self._tables[f"{part} labels"] = labels.long()
        if self.n_samples > len(self._tables["test"]):
            raise UserError(
                f"n_samples={self.n_samples}, but {len(self._tables['test'])} are held out"
            )

    def table(self, name: str) -> Tensor:
        """``train``, ``test``, ``train labels`` or ``test labels``, whole, on the CPU."""
        self.setup()
        return self._tables[name]

    def train_dataloader(self) -> DataLoader:
        self.setup()
        order = EpochOrder(len(self._tables["train"]), self.seed)
        make = partial(self.training_indices, order)
        return DataLoader(EndlessBatches(make, self.trainer), batch_size=None)

    def training_indices(self, order: EpochOrder, step: int) -> Batch:
        """Which rows batch ``step`` of this process holds, and which of them are mirrored."""
        rank, world = (0, 1) if self.trainer is None else (
            self.trainer.global_rank, self.trainer.world_size,
        )  # fmt: skip
        first = (step * world + rank) * self.train_batch_size
        batch = {"index": order.take(first, self.train_batch_size), "part": "train"}
        if self.flip:
            generator = make_generator(self.seed, "flip", step, rank)
            batch["mirrored"] = torch.rand(self.train_batch_size, generator=generator) < 0.5
        return batch

    def test_dataloader(self) -> DataLoader:
        self.setup()
        total = self.n_samples or len(self._tables["test"])

        def make(number: int) -> Batch:
            first = number * self.batch_size
            last = min(first + self.batch_size, total)
            return {"index": torch.arange(first, last), "part": "test"}

        return numbered_loader(make, -(-total // self.batch_size), self.trainer)

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        return self.assemble(batch)

    def assemble(self, batch: Batch) -> Batch:
        """The rows that a batch of indices names."""
        index, part = batch.pop("index"), batch.pop("part")
        if index.device not in self._resident:
            self._resident[index.device] = {k: v.to(index.device) for k, v in self._tables.items()}
        tables = self._resident[index.device]
        counts = tables[part][index]
        if "mirrored" in batch:
            where = batch.pop("mirrored").view(-1, *[1] * (counts.ndim - 1))
            counts = torch.where(where, counts.flip(-1), counts)
        batch["counts"] = counts
        if f"{part} labels" in tables:
            batch["labels"] = tables[f"{part} labels"][index]
        return batch


class SampleBatches(LightningDataModule):
    """Test batches of a generative method: how many samples to draw, and held-out counts.

    Batch i is ``{"count": B, "counts": (B * held_out, ...)}``: the samples of the whole run are as
    good a grid over the held-out part as over the samples, so one stage draws and judges both.
    Once all held-out counts have been given, batches have none; a batch has them
    for all of its samples or for none.

    Args:
        source: the data; each of its held-out counts is given once at most.
        n_samples: over all batches and processes.
        batch_size: drawn at a time, by one process; part of what the samples are.
        held_out: held-out counts that go with each sample.

    Raises:
        UserError: nothing to draw, or held-out counts that run out in the middle of a batch.
    """

    def __init__(
        self, source: CountData, n_samples: int, batch_size: int = 500, held_out: int = 1
    ) -> None:
        super().__init__()
        if n_samples < 1 or batch_size < 1 or held_out < 0:
            raise UserError("n_samples and batch_size are at least 1, held_out at least 0")
        self.source, self.n_samples = source, n_samples
        self.batch_size, self.held_out = batch_size, held_out

    def setup(self, stage: str | None = None) -> None:
        self.source.setup(stage)
        available = len(self.source.table("test"))
        wanted, size = self.n_samples * self.held_out, self.batch_size
        if wanted > available and available % (size * self.held_out):
            fits = [n for n in range(1, size) if not available % (n * self.held_out)]
            fix = f"data.batch_size={fits[-1]} or " if fits else ""
            raise UserError(
                f"{available:,} held-out counts are no whole number of batches of {size:,} samples "
                f"with {self.held_out} each; take {fix}sampling.held_out=0"
            )

    def test_dataloader(self) -> DataLoader:
        available = len(self.source.table("test"))

        def make(number: int) -> Batch:
            first = number * self.batch_size
            count = min(self.batch_size, self.n_samples - first)
            ends = (min(at * self.held_out, available) for at in (first, first + count))
            return {"count": count, "index": torch.arange(*ends), "part": "test"}

        return numbered_loader(make, -(-self.n_samples // self.batch_size), self.trainer)

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        return self.source.assemble(batch)


def checked(counts: Tensor, maximum: int, what: str = "data") -> Tensor:
    """``counts`` in the smallest type for 0..M.

    Raises:
        UserError: no integers, values outside 0..M, no rows.
    """
    if counts.is_floating_point() and not bool((counts == counts.round()).all()):
        raise UserError(f"{what}: counts must be integers; round or rescale them first")
    if counts.ndim < 2 or len(counts) == 0:
        raise UserError(f"{what}: counts of shape {tuple(counts.shape)}, not (N, sites...)")
    low, high = int(counts.min()), int(counts.max())
    if low < 0 or high > maximum:
        raise UserError(f"{what}: counts from {low} to {high} do not lie in 0..{maximum}")
    return counts.to(torch.uint8 if maximum < 256 else torch.int32)
