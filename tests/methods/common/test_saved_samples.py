import pytest
import torch

from jumpbench.data.numbers import Numbers
from jumpbench.errors import UserError
from jumpbench.methods.common.saved_samples import SavedSamples
from jumpbench.paths import SAMPLES
from support import quiet_trainer


@pytest.fixture
def folder(tmp_path):
    """A run of 30 samples with weights."""
    samples, weights = torch.arange(30)[:, None].repeat(1, 4), torch.linspace(0, 1, 30)
    torch.save(
        {"samples": samples.to(torch.uint8), "log_weights": weights, "values": {"tau": 2.5}},
        tmp_path / SAMPLES,
    )
    return tmp_path


def run(method, n, batch):
    quiet_trainer(1).test(method, datamodule=Numbers(n, batch), verbose=False)
    return method.artifacts


def test_batches_are_the_samples_of_their_numbers(folder):
    found = run(SavedMore(folder), 20, 8)
    assert found["samples"][:, 0].tolist() == list(range(20))
    with pytest.raises(UserError, match="holds 30 samples, fewer than the 32"):
        run(SavedMore(folder), 40, 8)


@pytest.mark.parametrize("n", [5, 64])
def test_a_whole_run_is_one_batch_however_many_samples_it_has(folder, n):
    found = run(SavedMore(folder, whole=True), n, n)
    assert found["samples"][:, 0].tolist() == list(range(30))
    assert torch.equal(found["log_weights"], torch.linspace(0, 1, 30))
    with pytest.raises(UserError, match="one batch"):
        run(SavedMore(folder, whole=True), 2 * n, n)


class SavedMore(SavedSamples):
    """Whose samples are kept, so that they can be looked at."""

    keep_samples = True
