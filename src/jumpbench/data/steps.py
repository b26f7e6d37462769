"""Numbers as data, for methods that draw their own: of training steps, of independent chains."""

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.endless import EndlessBatches
from jumpbench.errors import UserError


class Steps(LightningDataModule):
    """Step numbers as batches: what a sampler trains and is tested on is simulated by itself.

    Training never ends by itself (``trainer.max_steps`` or ``max_time`` does that), so it is one
    epoch, and a method must count by ``global_step``, not by the batch. A test batch is the index
    of one batch of chains; how many chains a batch holds is the method's ``chains_per_batch``.

    Args:
        n_test_batches: batches of chains in the test stage, over all processes.

    Raises:
        UserError: ``n_test_batches < 1``.
    """

    def __init__(self, n_test_batches: int = 1) -> None:
        super().__init__()
        if n_test_batches < 1:
            raise UserError(f"n_test_batches must be at least 1, not {n_test_batches}")
        self.n_test_batches = n_test_batches

    def train_dataloader(self) -> DataLoader[Tensor]:
        numbers = EndlessBatches(torch.tensor, self.trainer, whole=True)
        return DataLoader(numbers, batch_size=None)

    def test_dataloader(self) -> DataLoader[Tensor]:
        return numbered_loader(torch.tensor, self.n_test_batches, self.trainer)


class ChainNumbers(LightningDataModule):
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
