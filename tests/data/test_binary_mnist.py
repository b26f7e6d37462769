import pytest
import torch

from jumpbench.data.binary_mnist import BinaryMnist, binarised
from jumpbench.errors import UserError
from support import needs_data


def test_binarised_is_the_published_rule():
    """floor(pixel / 128); two pixels of 0 around it at 32; means of 2 x 2 blocks at 16."""
    images = torch.randint(256, (5, 28, 28), dtype=torch.uint8)
    bits = images // 128
    assert torch.equal(binarised(images, 28), bits.flatten(1))
    wide = binarised(images, 32).view(-1, 32, 32)
    assert torch.equal(wide[:, 2:-2, 2:-2], bits)
    assert int(wide.sum()) == int(bits.sum())
    small = binarised(images, 16).view(-1, 16, 16)
    padded = torch.zeros(5, 32, 32)
    padded[:, 2:-2, 2:-2] = images
    means = torch.nn.functional.avg_pool2d(padded[:, None], 2)[:, 0]
    assert torch.equal(small, (means >= 128).to(torch.uint8))


def test_batches():
    data = BinaryMnist(16, generated=50, train_batch_size=7, n_samples=25, batch_size=10)
    batches = list(data.test_dataloader())
    assert [len(batch["labels"]) for batch in batches] == [10, 10, 5]
    assert torch.equal(torch.cat([b["number"] for b in batches]), torch.arange(25))
    assert batches[0]["states"].dtype == torch.long and data.length == 256
    assert data.train_batch(0)["states"].shape == (7, 256)
    with pytest.raises(UserError, match="there are 50"):
        BinaryMnist(16, generated=50, n_samples=51).test_dataloader()
    with pytest.raises(UserError, match="side"):
        BinaryMnist(20)
    with pytest.raises(UserError, match="at least 1"):
        BinaryMnist(28, train_batch_size=0)


def test_several_samples_of_some_images():
    """Each image so many times in a row, from one on; batches may cut through them."""
    data = BinaryMnist(16, generated=9, test_first=6, n_samples=6, test_repeats=3, batch_size=4)
    numbers = [batch["number"].tolist() for batch in data.test_dataloader()]
    assert numbers == [[6, 6, 6, 7], [7, 7]]
    with pytest.raises(UserError, match="from 6 on, but there are 9"):
        BinaryMnist(16, generated=9, test_first=6, n_samples=4).test_dataloader()
    with pytest.raises(UserError, match="test_repeats 0"):
        BinaryMnist(16, generated=9, test_repeats=0)


@needs_data("mnist")
def test_mnist():
    data = BinaryMnist(32, n_samples=1000)
    states = data.split("train")["states"]
    assert states.shape == (60000, 1024)
    first = data.batch("test", torch.arange(2))
    assert first["labels"].tolist() == [7, 2]
    # Zero border of two pixels on every side
    assert int(states.view(-1, 32, 32)[:, [0, 1, 30, 31]].sum()) == 0
