"""Numbers of independent chains to run, in batches: for problems with one fixed measurement."""

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.errors import UserError


class Chains(LightningDataModule):
    """Batches of chain numbers 0 .. ``n_samples`` - 1; each chain returns one sample.

    Args:
        n_samples: independent chains.
        batch_size: chains that run side by side. It bounds the memory, and on a CPU the speed:
            working tensors of about a megabyte stay in the cache.

    Raises:
        UserError: one of them is below 1.
    """

    def __init__(self, n_samples: int, batch_size: int) -> None:
        super().__init__()
        if n_samples < 1 or batch_size < 1:
            raise UserError(
                f"n_samples {n_samples}, batch_size {batch_size}: chains need at least 1 of each"
            )
        self.n_samples, self.batch_size = n_samples, batch_size

    def batch(self, number: int) -> Tensor:
        first = number * self.batch_size
        return torch.arange(first, min(first + self.batch_size, self.n_samples))

    def test_dataloader(self) -> DataLoader:
        count = -(-self.n_samples // self.batch_size)
        return numbered_loader(self.batch, count, self.trainer)
