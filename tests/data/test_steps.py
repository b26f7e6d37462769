"""The data module of step numbers."""

from itertools import islice

import pytest

from jumpbench.data.steps import Steps
from jumpbench.errors import UserError


def test_training_is_endless_and_test_has_the_asked_batches():
    data = Steps(n_test_batches=3)
    assert [int(batch) for batch in islice(data.train_dataloader(), 5)] == [0, 1, 2, 3, 4]
    assert [int(batch) for batch in data.test_dataloader()] == [0, 1, 2]


def test_no_test_batches_is_an_error():
    with pytest.raises(UserError, match="n_test_batches"):
        Steps(n_test_batches=0)
