"""Lists and jigsaws that are tested on held-out training images: settings are chosen on them."""

from torch.utils.data import DataLoader

from jumpbench.data import jigsaw, sorting
from jumpbench.data.lists import ListData
from jumpbench.errors import UserError


class HeldOut(ListData):
    """The first ``n_samples`` validation lists in place of the test lists.

    Raises:
        UserError: a jigsaw has fewer held-out images than ``n_samples``, or no image is held out.
    """

    held_out: int
    distinct = False  # whether a list uses up an image

    def test_dataloader(self) -> DataLoader:
        if self.held_out < (self.n_samples if self.distinct else 1):
            raise UserError(
                f"n_samples={self.n_samples} held-out lists, but held_out={self.held_out} training "
                f"images: set held_out={self.n_samples}"
            )
        return self._fixed("valid", self.n_samples)


class HeldOutDigits(HeldOut, sorting.SortDigits):
    """:class:`jumpbench.data.sorting.SortDigits`, tested on held-out digits."""


class HeldOutJigsaw(HeldOut, jigsaw.NoisyMnistJigsaw):
    """:class:`jumpbench.data.jigsaw.NoisyMnistJigsaw`, tested on held-out images."""

    distinct = True


class HeldOutCifar10Jigsaw(HeldOut, jigsaw.Cifar10Jigsaw):
    """:class:`jumpbench.data.jigsaw.Cifar10Jigsaw`, tested on held-out images."""

    distinct = True
