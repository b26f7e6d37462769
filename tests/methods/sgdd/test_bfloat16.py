"""What bfloat16 changes of a trained prior, as the table of inverse problems says."""

import torch

import jumpbench
from jumpbench.data.binary_mnist import BinaryMnist
from support import needs_data


@needs_data("mnist")
def test_the_law_of_a_clean_pixel_hardly_changes():
    data = BinaryMnist(32, n_samples=16, batch_size=16)
    data.setup("test")
    digits = next(iter(data.test_dataloader()))["states"].long()
    denoiser = jumpbench.load_model("sgdd/mnist-32").method.eval().network.network
    draws = torch.Generator().manual_seed(0)
    for noise in (0.01, 0.05, 0.2, 0.5, 1.0, 3.0):
        level = torch.full((16,), noise)
        drawn_anew = torch.rand(digits.shape, generator=draws) < 1 - torch.exp(-level[:, None])
        x = torch.where(drawn_anew, torch.randint(2, digits.shape, generator=draws), digits)
        with torch.no_grad():
            single = denoiser(x, level).softmax(-1)
            with torch.autocast("cpu", torch.bfloat16):
                half = denoiser(x, level)
        difference = (half.float().softmax(-1) - single).abs()
        assert half.dtype == torch.bfloat16 and 0 < difference.mean() < 2e-4
        assert difference.max() < 0.01
