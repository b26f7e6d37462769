import pytest
import torch

from jumpbench.data.chains import Chains
from jumpbench.errors import UserError


def test_batches_number_the_chains():
    batches = list(Chains(25, 10).test_dataloader())
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert torch.equal(torch.cat(batches), torch.arange(25))


def test_bad_sizes_are_refused():
    with pytest.raises(UserError, match="batch_size 0"):
        Chains(10, 0)
