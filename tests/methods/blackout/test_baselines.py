"""What Blackout is compared with is refused on data of another maximum."""

import pytest
import torch
from lightning import Trainer

from jumpbench.data.counts import CountData, SampleBatches
from jumpbench.errors import UserError
from jumpbench.methods.blackout.baselines.independent_pixels import IndependentPixels
from jumpbench.methods.blackout.baselines.uniform_noise import UniformNoise


class Bits(CountData):
    maximum = 1

    def counts(self, train):
        return torch.tensor([[0, 1], [1, 1]]).repeat(50, 1)


@pytest.mark.parametrize("baseline", [IndependentPixels, UniformNoise])
def test_another_maximum_than_that_of_the_data_is_refused(baseline):
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )  # fmt: skip
    data = SampleBatches(n_samples=4, batch_size=4, source=Bits(), held_out=1)
    with pytest.raises(UserError, match=rf"{baseline.__name__}\(255\) with Bits of counts 0\.\.1"):
        trainer.test(baseline(255), data)
    assert trainer.test(baseline(1), data, verbose=False)
