"""The training images of another DataModule, to be looked at in order."""

from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from jumpbench.data.batches import numbered_loader
from jumpbench.data.counts import CountData


class TrainingImages(LightningDataModule):
    """Test batches are all training images, unflipped, in their order: counts (B, C, H, W).

    Args:
        source: the data.
        batch_size: images at a time.
    """

    def __init__(self, source: CountData, batch_size: int = 500) -> None:
        super().__init__()
        self.source, self.batch_size = source, batch_size

    def setup(self, stage: str | None = None) -> None:
        self.source.setup(stage)

    def test_dataloader(self) -> DataLoader[Tensor]:
        images = self.source.table("train")

        def make(number: int) -> Tensor:
            return images[number * self.batch_size : (number + 1) * self.batch_size]

        return numbered_loader(make, -(-len(images) // self.batch_size), self.trainer)
