"""Training batches by number: what a step takes, and where a resumed training takes them up."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from lightning import LightningModule, Trainer
from torch import nn

from jumpbench.data.counts import CountData
from jumpbench.data.graphs import GraphData, erdos_renyi
from jumpbench.data.lists import ListData
from jumpbench.data.numbers import Numbers
from jumpbench.data.tokens import TokenData
from jumpbench.errors import UserError


class Tokens(TokenData):
    length, n_states = 1, 256

    def load(self, split):
        return {"states": torch.arange(200, dtype=torch.uint8)[:, None]}


class Counts(CountData):
    maximum = 255

    def counts(self, train):
        return torch.arange(200, dtype=torch.uint8)[:, None]


class Rows(ListData):
    def tables(self):
        return {}

    def draw(self, split, count, generator, first):
        same = torch.arange(2).expand(count, 2)
        row = torch.arange(first, first + count)
        return {"row": row, "objects": same, "order": same, "groups": same}


GRAPHS = partial(erdos_renyi, low=4, high=6)
MAKERS = {
    "tokens": lambda size: Tokens(train_batch_size=size),
    "counts": lambda size: Counts(train_batch_size=size),
    "lists": lambda size: Rows(2, size, 1, 1),
}
VALUES = {"tokens": "states", "counts": "counts", "lists": "row"}


class Collecting(LightningModule):
    def __init__(self, key):
        super().__init__()
        self.key, self.seen, self.weight = key, [], nn.Parameter(torch.zeros(()))

    def training_step(self, batch, index):
        self.seen.append((self.global_step, batch[self.key].flatten().tolist()))
        return self.weight * 1.0

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def rows(kind, size, parts, steps, folder, start=None):
    """Training rows of every step up to ``steps``, from a checkpoint on if one is given."""
    module = Collecting(VALUES[kind])
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, max_steps=steps, max_epochs=-1, accumulate_grad_batches=parts,
    )  # fmt: skip
    trainer.fit(module, MAKERS[kind](size), ckpt_path=start)
    trainer.save_checkpoint(folder / "last.ckpt")
    found = {}
    for step, values in module.seen:
        found.setdefault(step, []).extend(values)
    return found


@pytest.mark.parametrize("kind", MAKERS)
def test_a_resumed_training_goes_on_with_the_next_batch(kind, tmp_path):
    """Also where a step takes several batches."""
    whole = rows(kind, 6, 3, 5, tmp_path)
    assert {len(values) for values in whole.values()} == {18}
    first = rows(kind, 6, 3, 2, tmp_path)
    rest = rows(kind, 6, 3, 5, tmp_path, tmp_path / "last.ckpt")
    assert first | rest == whole and sorted(rest) == [2, 3, 4]


@pytest.mark.parametrize(("parts", "words"), [(1, None), (3, "accumulate_grad_batches=3")])
@pytest.mark.parametrize("data", [Numbers(), GraphData(GRAPHS, n_train=2, n_test=1)])
def test_batches_that_a_method_makes_are_taken_whole(data, parts, words):
    trainer = Trainer(accelerator="cpu", logger=False, accumulate_grad_batches=parts)
    data.trainer = trainer
    with pytest.raises(UserError, match=words) if words else nullcontext():
        data.train_dataloader()


@pytest.mark.parametrize("kind", ["counts", "lists"])
def test_steps_in_parts_take_the_rows_of_whole_steps(kind, tmp_path):
    assert rows(kind, 6, 3, 5, tmp_path) == rows(kind, 18, 1, 5, tmp_path)
