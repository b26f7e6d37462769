"""Lists of objects and the permutation that orders them: what sorting, jigsaw and tours share."""

from abc import ABC, abstractmethod

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.errors import UserError
from jumpbench.processes.permutations import check_permutations
from jumpbench.seeding import make_generator

Batch = dict[str, Tensor]


class ListData(LightningDataModule, ABC):
    """Base of the DataModules of lists.

    Every batch that a method sees is a dict of tensors on its device:

    - ``objects`` (B, n, ...): the list as presented;
    - ``order`` long (B, n): the true index array g, ``objects[b, g[b]]`` is the ordered list;
    - ``groups`` long (B, n): objects with the same number cannot be told apart, so that no
      method can order them (ties of a sort, empty pieces of a jigsaw).

    The loaders yield *draws* (small index tensors made on the CPU from the seed and the number of
    the batch); :meth:`assemble` makes the batch from a draw on the method's device, out of
    tensors that stay there. Batch ``i`` of a seed is therefore the same whenever and wherever it
    is made, and a resumed run continues with the batch after the last step it took.

    Args:
        length: n, objects in a list.
        train_batch_size: lists in a training batch; an epoch is what the trainer takes in steps.
        n_samples: number of test lists.
        batch_size: how many are decoded at a time.
        valid_size: validation lists (0: no validation loader).
        seed: of the training draws. Test and validation lists depend neither on it nor on the
            batch size: every method that asks for ``n_samples`` lists is tested on the same ones.

    Raises:
        UserError: fewer than two objects in a list, or no list in a batch or in the test.
    """

    def __init__(
        self,
        length: int,
        train_batch_size: int,
        n_samples: int,
        batch_size: int,
        valid_size: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if length < 2:
            raise UserError(f"a list of {length} objects has nothing to order: use length >= 2")
        for name, value in (("train_batch_size", train_batch_size), ("batch_size", batch_size)):
            if value < 1:
                raise UserError(f"{name}={value}: a batch needs at least one list")
        if n_samples < 1:
            raise UserError(f"n_samples={n_samples}: the test needs at least one list")
        self.length = length
        self.train_batch_size = train_batch_size
        self.n_samples = n_samples
        self.batch_size = batch_size
        self.valid_size = valid_size
        self.seed = seed
        self._resident: dict[torch.device, dict[str, Tensor]] = {}

    def setup(self, stage: str | None = None) -> None:
        """Load or generate what :meth:`tables` returns; idempotent."""

    def tables(self) -> dict[str, Tensor]:
        """CPU tensors that :meth:`assemble` reads; copied once to each device."""
        return {}

    @abstractmethod
    def draw(self, split: str, size: int, generator: torch.Generator, first: int) -> Batch:
        """``size`` lists as indices; ``first`` counts the lists drawn before (of this split)."""

    def assemble(self, draw: Batch, tables: dict[str, Tensor]) -> Batch:
        """The batch of a draw; both live on the same device. By default the draw itself."""
        return draw

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        device = next(iter(batch.values())).device
        first = device not in self._resident
        if first:
            self._resident[device] = {k: v.to(device) for k, v in self.tables().items()}
        batch = self.assemble(batch, self._resident[device])
        if first:  # later batches are made alike, and asking for values waits for the device
            self._check(batch)
        return batch

    def _check(self, batch: Batch) -> None:
        name = type(self).__name__
        if missing := {"objects", "order", "groups"} - batch.keys():
            raise UserError(f"batches of {name} lack {', '.join(map(repr, sorted(missing)))}")
        for key, value in batch.items():
            if key in ("objects", "order", "groups") and value.shape[1:2] != (self.length,):
                raise UserError(
                    f"{key} of {name} must have shape (B, {self.length}, ...), not "
                    f"{tuple(value.shape)}"
                )
        try:
            check_permutations(batch["order"], "order")
        except ValueError as error:
            raise UserError(f"{name}: {error}") from None

    def train_dataloader(self) -> DataLoader:
        rank, world = self._rank(), self._world()

        def make(step: int) -> Batch:
            generator = make_generator(self.seed, "train", step, rank)
            first = (step * world + rank) * self.train_batch_size
            return self.draw("train", self.train_batch_size, generator, first)

        return DataLoader(EndlessBatches(make, self.trainer), batch_size=None)

    def val_dataloader(self) -> DataLoader | list:
        return self._fixed("valid", self.valid_size) if self.valid_size else []

    def test_dataloader(self) -> DataLoader:
        return self._fixed("test", self.n_samples)

    def _fixed(self, split: str, total: int) -> DataLoader:
        def make(index: int) -> Batch:
            first = index * self.batch_size
            numbers = range(first, min(first + self.batch_size, total))
            # Each list has its own generator: the batch size changes no list.
            draws = [self.draw(split, 1, make_generator(0, split, i), i) for i in numbers]
            return {name: torch.cat([draw[name] for draw in draws]) for name in draws[0]}

        return numbered_loader(make, -(-total // self.batch_size), self.trainer)

    def _rank(self) -> int:
        return self.trainer.global_rank if self.trainer is not None else 0

    def _world(self) -> int:
        return self.trainer.world_size if self.trainer is not None else 1


def shuffles(size: int, length: int, generator: torch.Generator) -> Tensor:
    """Uniform permutations, long (size, length)."""
    return torch.rand(size, length, generator=generator, dtype=torch.float64).argsort(-1)


class EpochOrder:
    """Indices of a finite training set without replacement, in a fresh order every epoch.

    Epochs follow one another without a short last batch, so that every batch has the same shape.
    """

    def __init__(self, total: int, seed: int) -> None:
        self.total, self.seed = total, seed
        self._cached: tuple[int, Tensor] = (-1, torch.empty(0))

    def take(self, first: int, size: int) -> Tensor:
        """Indices number ``first .. first + size - 1`` of the endless sequence, long (size,)."""
        parts = []
        while size > 0:
            epoch, offset = divmod(first, self.total)
            if self._cached[0] != epoch:
                generator = make_generator(self.seed, "epoch", epoch)
                self._cached = epoch, torch.randperm(self.total, generator=generator)
            parts.append(self._cached[1][offset : offset + size])
            first, size = first + len(parts[-1]), size - len(parts[-1])
        return torch.cat(parts)


def take_rows(table: Tensor, index: Tensor) -> Tensor:
    """``out[b, j] = table[b, index[b, j]]`` for a table (B, n, ...)."""
    shape = index.shape + (1,) * (table.dim() - 2)
    return table.gather(1, index.view(shape).expand(*index.shape, *table.shape[2:]))
