"""The data module of numbers: steps to train on, samples to be tested on."""

from itertools import islice

import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError


def test_training_is_endless():
    steps = islice(Numbers().train_dataloader(), 5)
    assert [int(batch) for batch in steps] == [0, 1, 2, 3, 4]


def test_batches_number_the_samples():
    batches = list(Numbers(25, 10).test_dataloader())
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert torch.equal(torch.cat(batches), torch.arange(25))


@pytest.mark.parametrize("sizes", [(10, 0), (0, 10)])
def test_no_samples_or_empty_batches_are_refused(sizes):
    with pytest.raises(UserError, match="n_samples {}, batch_size {}".format(*sizes)):
        Numbers(*sizes)
