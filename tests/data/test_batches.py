"""Every number is drawn by one process, none is left out."""

from types import SimpleNamespace

import pytest
from lightning import LightningModule, Trainer

from jumpbench.data.batches import batch_number, count_batches, numbered_loader
from jumpbench.errors import UserError


def a_trainer(count, rank=0, world=1, limit=1.0):
    trainer = SimpleNamespace(global_rank=rank, world_size=world, limit_test_batches=limit)
    trainer.test_dataloaders = numbered_loader(lambda i: 10 * i, count, trainer)
    return trainer


def numbers(count, rank, world):
    trainer = a_trainer(count, rank, world)
    assert count_batches(trainer) == count
    batches = list(trainer.test_dataloaders)
    assert batches == [10 * batch_number(trainer, index) for index in range(len(batches))]
    return [batch // 10 for batch in batches]


@pytest.mark.parametrize(("count", "world"), [(7, 1), (7, 2), (7, 3), (3, 3), (8, 4)])
def test_the_processes_share_the_numbers(count, world):
    shares = [numbers(count, rank, world) for rank in range(world)]
    assert sorted(n for share in shares for n in share) == list(range(count))


def test_more_processes_than_batches_repeat_some():
    shares = [numbers(2, rank, 5) for rank in range(5)]
    assert shares == [[0], [1], [0], [1], [0]]


@pytest.mark.parametrize(
    ("world", "limit", "tested"),
    [(1, 1, 1), (1, 1.0, 7), (1, 0.5, 3), (1, 9, 7), (2, 1, 2), (2, 3, 6), (2, 0.8, 5)],
)
def test_a_limit_counts_batches_of_each_process_or_takes_a_part(world, limit, tested):
    drawn = set()
    for rank in range(world):
        trainer = a_trainer(7, rank, world, limit)
        assert count_batches(trainer) == tested
        share = len(trainer.test_dataloaders)
        first = int(share * limit) if isinstance(limit, float) else min(share, limit)
        drawn |= {batch_number(trainer, index) for index in range(first)}
    assert drawn == set(range(tested))


@pytest.mark.parametrize("limit", [1, 3, 1.0, 0.5])
def test_as_many_are_counted_as_lightning_tests(limit):
    class Counting(LightningModule):
        tested, told = 0, None

        def test_step(self, batch, index):
            self.tested += 1
            self.told = count_batches(self.trainer)

    module = Counting()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(accelerator="cpu", limit_test_batches=limit, **quiet)
    trainer.test(module, numbered_loader(lambda i: i, 7, trainer), verbose=False)
    assert module.tested == module.told


def test_without_a_trainer_all_batches_come():
    assert list(numbered_loader(lambda i: i, 4)) == [0, 1, 2, 3]


def test_a_foreign_loader_on_several_devices_is_refused():
    trainer = SimpleNamespace(world_size=2, test_dataloaders=[1, 2])
    with pytest.raises(UserError, match="numbered_loader"):
        count_batches(trainer)
