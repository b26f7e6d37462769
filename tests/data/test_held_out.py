"""Held-out lists are made of training images that no training list has."""

import pytest
import torch

from jumpbench.data import held_out, jigsaw, sorting
from jumpbench.errors import UserError
from jumpbench.seeding import make_generator


def drawn(loader):
    return [batch for batch in loader]


def test_numbers_are_made_of_held_out_digits():
    data = held_out.HeldOutDigits(3, n_samples=10, batch_size=4, held_out=20, generated=100)
    data.setup()
    digits = torch.cat([batch["digits"] for batch in drawn(data.test_dataloader())])
    assert digits.shape == (10, 3, 4) and digits.min() >= 80 and digits.max() < 100
    trained = data.draw("train", 200, make_generator(0), 0)["digits"]
    assert trained.max() < 80


@pytest.mark.parametrize("kind", [held_out.HeldOutJigsaw, held_out.HeldOutCifar10Jigsaw])
def test_jigsaws_are_of_held_out_images(kind):
    data = kind(2, n_samples=20, batch_size=8, held_out=20, generated=100)
    data.setup()
    index = torch.cat([batch["index"] for batch in drawn(data.test_dataloader())])
    assert index.tolist() == list(range(80, 100))
    assert data.draw("train", 160, make_generator(0), 0)["index"].max() < 80


def test_the_tables_data_are_tested_on_test_images():
    numbers = sorting.SortDigits(3, n_samples=10, held_out=20, generated=100)
    pieces = jigsaw.NoisyMnistJigsaw(2, n_samples=10, held_out=20, generated=100)
    for data, name in ((numbers, "digits"), (pieces, "index")):
        data.setup()
        assert min(batch[name].min() for batch in drawn(data.test_dataloader())) >= 100


@pytest.mark.parametrize("kept", [0, 19])
def test_a_jigsaw_needs_as_many_held_out_images_as_lists(kept):
    data = held_out.HeldOutJigsaw(2, n_samples=20, held_out=kept, generated=100)
    data.setup()
    with pytest.raises(UserError, match="held_out=20"):
        data.test_dataloader()


def test_numbers_need_held_out_digits():
    data = held_out.HeldOutDigits(3, n_samples=20, generated=100)
    data.setup()
    with pytest.raises(UserError, match="held-out"):
        data.test_dataloader()
