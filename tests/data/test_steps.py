"""The data modules of numbers: steps, chains."""

from itertools import islice

import pytest
import torch

from jumpbench.data.steps import ChainNumbers, Steps
from jumpbench.errors import UserError


def test_training_is_endless_and_test_has_the_asked_batches():
    data = Steps(n_test_batches=3)
    assert [int(batch) for batch in islice(data.train_dataloader(), 5)] == [0, 1, 2, 3, 4]
    assert [int(batch) for batch in data.test_dataloader()] == [0, 1, 2]


def test_no_test_batches_is_an_error():
    with pytest.raises(UserError, match="n_test_batches"):
        Steps(n_test_batches=0)


def test_batches_number_the_chains():
    batches = list(ChainNumbers(25, 10).test_dataloader())
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert torch.equal(torch.cat(batches), torch.arange(25))


def test_no_chains_or_empty_batches_are_refused():
    with pytest.raises(UserError, match="batch_size 0"):
        ChainNumbers(10, 0)
