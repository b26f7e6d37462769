"""Numbered test batches: each process takes its share, none is drawn twice, none is padded."""

from collections.abc import Callable, Iterator
from typing import Any

from lightning import Trainer
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from jumpbench.errors import UserError


class NumberedBatches(Dataset):
    """Batch i is ``make(i)``, whoever asks for it."""

    def __init__(self, make: Callable[[int], Any], count: int) -> None:
        self._make, self._count = make, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self._count:
            raise IndexError(index)
        return self._make(index)


class Share(DistributedSampler):
    """Numbers rank, rank + world, rank + 2 world, ...

    A process beyond the number of batches repeats one, so that every process has work; the test
    stage keeps a batch once. (It is a ``DistributedSampler`` so that Lightning leaves it alone.)
    """

    dataset: NumberedBatches

    def __init__(self, dataset: NumberedBatches, rank: int, world: int) -> None:
        super().__init__(dataset, num_replicas=world, rank=rank, shuffle=False)

    def __len__(self) -> int:
        return len(range(self.rank, len(self.dataset), self.num_replicas)) or 1

    def __iter__(self) -> Iterator[int]:
        return (self.number(index) for index in range(len(self)))

    def number(self, index: int) -> int:
        """The number of this process's batch ``index``."""
        return (self.rank + index * self.num_replicas) % len(self.dataset)


def numbered_loader(
    make: Callable[[int], Any], count: int, trainer: Trainer | None = None
) -> DataLoader:
    """Batches ``make(0) .. make(count - 1)``, shared out over the processes of ``trainer``.

    Args:
        make: number -> batch; must not depend on the process.
        count: number of batches, over all processes.
        trainer: of the DataModule; without one the loader yields all batches.
    """
    batches = NumberedBatches(make, count)
    rank, world = (0, 1) if trainer is None else (trainer.global_rank, trainer.world_size)
    return DataLoader(batches, sampler=Share(batches, rank, world), batch_size=None)


def count_batches(trainer: Trainer) -> int:
    """Number of test batches over all processes.

    Raises:
        UserError: a loader whose batches cannot be told apart between processes.
    """
    sampler = getattr(trainer.test_dataloaders, "sampler", None)
    if isinstance(sampler, Share):
        count, world = len(sampler.dataset), sampler.num_replicas
        shares = (len(range(rank, count, world)) for rank in range(world))
        return sum(_limited(share, trainer.limit_test_batches) for share in shares)
    if trainer.world_size > 1:
        raise UserError(
            "on several devices the test loader must be one of "
            "jumpbench.data.batches.numbered_loader, so that no batch is drawn twice"
        )
    return int(trainer.num_test_batches[0])


def _limited(share: int, limit: int | float) -> int:
    """Batches that Lightning takes of a process's share: so many, or such a part (1.0 is all)."""
    return int(share * limit) if isinstance(limit, float) else min(share, limit)


def batch_number(trainer: Trainer, batch_index: int) -> int:
    """The number, over all processes, of this process's test batch ``batch_index``."""
    sampler = getattr(trainer.test_dataloaders, "sampler", None)
    return sampler.number(batch_index) if isinstance(sampler, Share) else batch_index
