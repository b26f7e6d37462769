"""Numbers as data, for methods that draw their own: of training steps, of samples."""

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.errors import UserError


class Numbers(LightningDataModule):
    """Step numbers to train on, sample numbers 0 .. ``n_samples`` - 1 in batches to be tested on.

    Training never ends by itself (``trainer.max_steps`` or ``max_time`` does that), so it is one
    epoch, and a method must count by ``global_step``, not by the batch. How much a training step
    simulates is the method's choice.

    Args:
        n_samples: drawn in the test stage, over all batches and processes.
        batch_size: drawn at a time. It bounds the memory, and on a CPU the speed: working tensors
            of about a megabyte stay in the cache. It is also part of what the samples are.

    Raises:
        UserError: one of them is below 1.
    """

    def __init__(self, n_samples: int = 4096, batch_size: int = 512) -> None:
        super().__init__()
        if n_samples < 1 or batch_size < 1:
            raise UserError(f"n_samples {n_samples}, batch_size {batch_size}: both are at least 1")
        self.n_samples, self.batch_size = n_samples, batch_size

    def train_dataloader(self) -> DataLoader[Tensor]:
        numbers = EndlessBatches(torch.tensor, self.trainer, whole=True)
        return DataLoader(numbers, batch_size=None)

    def batch(self, number: int) -> Tensor:
        first = number * self.batch_size
        return torch.arange(first, min(first + self.batch_size, self.n_samples))

    def test_dataloader(self) -> DataLoader[Tensor]:
        count = -(-self.n_samples // self.batch_size)
        return numbered_loader(self.batch, count, self.trainer)
