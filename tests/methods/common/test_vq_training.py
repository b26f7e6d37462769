"""VQ training: the error falls, codes are used, and what is left for others."""

import torch
from lightning import Trainer

from jumpbench.data.images import GreyMnist
from jumpbench.evaluations.extras import ExtrasEvaluation
from jumpbench.methods.common.vq_training import VqTraining
from jumpbench.networks.vq_autoencoder import VqAutoencoder


def test_training_and_what_it_leaves():
    torch.manual_seed(0)
    data = GreyMnist(generated=64, train_batch_size=16, n_samples=20)
    network = VqAutoencoder(channels=1, widths=(4, 8, 8), codes=8, dimension=4, blocks=1)
    method = VqTraining(
        network, optimizer=lambda p: torch.optim.Adam(p, 3e-3), evaluation=ExtrasEvaluation()
    )
    options = {"logger": False, "enable_progress_bar": False, "enable_checkpointing": False}
    trainer = Trainer(accelerator="cpu", max_steps=40, **options)
    trainer.test(method, data, verbose=False)
    before = method.results["psnr"]
    trainer.fit(method, data)
    trainer.test(method, data, verbose=False)
    assert method.results["psnr"] > before + 3
    artifacts = method.artifacts
    assert artifacts["train"].shape == (64, 64) and artifacts["test"].shape == (64, 64)
    assert artifacts["images"].shape == (64, 1, 32, 32)
    assert len(artifacts["train"].unique()) >= 3  # without restarts one or two are left
    images = method.pixels(artifacts["images"])
    assert torch.equal(network.encode(images), artifacts["test"].long())
