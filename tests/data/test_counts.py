"""Data of counts: batches, order, mirroring, held-out counts, refusals."""

import pytest
import torch

from jumpbench.data.counts import CountData, SampleBatches, checked
from jumpbench.errors import UserError


class Ladder(CountData):
    maximum = 99

    def counts(self, train):
        return torch.arange(60).view(20, 1, 3) + (0 if train else 30)

    def labels(self, train):
        return torch.arange(20)


class Unlabelled(Ladder):
    def labels(self, train):
        return torch.arange(21)


def batches(data, count):
    loader = iter(data.train_dataloader())
    return [data.on_after_batch_transfer(next(loader), 0) for _ in range(count)]


def test_an_epoch_holds_every_row_once_and_batches_repeat():
    data = Ladder(train_batch_size=5, seed=3)
    rows = torch.cat([batch["labels"] for batch in batches(data, 4)])
    assert rows.sort().values.tolist() == list(range(20))
    again = batches(Ladder(train_batch_size=5, seed=3), 4)
    assert all(
        torch.equal(a["counts"], b["counts"]) for a, b in zip(again, batches(data, 4), strict=True)
    )
    assert again[0]["counts"].dtype == torch.uint8
    other = batches(Ladder(train_batch_size=5, seed=4), 4)
    assert any(not torch.equal(a["labels"], b["labels"]) for a, b in zip(again, other, strict=True))


def test_half_of_the_training_counts_are_mirrored():
    plain, data = Ladder(), Ladder(train_batch_size=10, flip=True)
    mirrored = 0
    for batch in batches(data, 40):
        rows = plain.table("train")[batch["labels"]]
        flipped = (batch["counts"] == rows.flip(-1)).flatten(1).all(1)
        assert (flipped | (batch["counts"] == rows).flatten(1).all(1)).all()
        mirrored += int(flipped.sum())
    assert abs(mirrored - 200) < 5 * 10  # five standard deviations of Binomial(400, 1/2)


def test_test_batches_are_the_held_out_rows_in_order():
    data = Ladder(n_samples=8, batch_size=3)
    loader = data.test_dataloader()
    found = [data.on_after_batch_transfer(batch, 0) for batch in loader]
    assert [len(b["labels"]) for b in found] == [3, 3, 2]
    assert torch.cat([b["counts"] for b in found]).flatten()[0] == 30


def test_sample_batches_give_each_held_out_image_once():
    data = SampleBatches(Ladder(), n_samples=25, batch_size=10, held_out=2)
    data.setup()
    found = [data.on_after_batch_transfer(batch, 0) for batch in data.test_dataloader()]
    assert [batch["count"] for batch in found] == [10, 10, 5]
    rows = torch.cat([batch["labels"] for batch in found])
    assert rows.tolist() == list(range(20)) and found[2]["counts"].shape == (0, 1, 3)
    none = SampleBatches(Ladder(), 4, 4, held_out=0)
    none.setup()
    [batch] = [none.on_after_batch_transfer(b, 0) for b in none.test_dataloader()]
    assert batch["counts"].shape == (0, 1, 3)


@pytest.mark.parametrize(("size", "held_out", "fix"), [(6, 1, "data.batch_size=5 or "), (2, 3, "")])
def test_held_out_images_that_run_out_inside_a_batch_are_refused(size, held_out, fix):
    with pytest.raises(UserError, match=f"20 held-out counts .* take {fix}sampling.held_out=0"):
        SampleBatches(Ladder(), 30, size, held_out).setup()
    SampleBatches(Ladder(), 20 // held_out, size, held_out).setup()


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (torch.tensor([[0.5, 1.0]]), "must be integers"),
        (torch.tensor([[0, 9]]), "do not lie in 0..8"),
        (torch.tensor([[-1, 3]]), "from -1 to 3"),
        (torch.tensor([1, 2]), "not .N, sites"),
        (torch.zeros(0, 3, dtype=torch.long), "shape"),
    ],
)
def test_bad_counts_are_refused(counts, words):
    with pytest.raises(UserError, match=words):
        checked(counts, 8)


def test_whole_numbers_in_floats_are_counts():
    assert checked(torch.tensor([[0.0, 8.0]]), 8).dtype == torch.uint8
    assert checked(torch.tensor([[0, 900]]), 900).dtype == torch.int32


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ladder(train_batch_size=0),
        lambda: Ladder(n_samples=21).setup(),
        lambda: SampleBatches(Ladder(), 0),
        lambda: Unlabelled().setup(),
    ],
)
def test_bad_sizes_are_refused(make):
    with pytest.raises(UserError):
        make()
