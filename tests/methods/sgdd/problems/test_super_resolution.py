"""Super-resolution: the misfit written out, its posterior on two codes, and its data."""

import pytest
import torch

from jumpbench.data.vq_codes import VqCodes
from jumpbench.errors import UserError
from jumpbench.methods.sgdd import MetropolisStep
from jumpbench.methods.sgdd.problems.super_resolution import SuperResolution, shrunk
from jumpbench.networks.vq_autoencoder import VqAutoencoder


def autoencoder():
    torch.manual_seed(1)
    return VqAutoencoder(channels=1, widths=(4, 8), codes=3, dimension=2, blocks=1)


def batch(count, generator):
    pixels = torch.randint(256, (count, 1, 4, 4), generator=generator, dtype=torch.uint8)
    return {"states": torch.zeros(count, 4, dtype=torch.long), "images": pixels}


def test_shrinking_keeps_means_of_flat_images():
    assert shrunk(torch.full((2, 3, 8, 8), 0.3), 4).shape == (2, 3, 2, 2)
    torch.testing.assert_close(
        shrunk(torch.full((1, 1, 8, 8), 0.3), 4), torch.full((1, 1, 2, 2), 0.3)
    )


def test_the_likelihood_of_every_state(space, generator):
    """81 states of 4 codes: -(decoded and shrunk - shrunk image)^2 / sigma^2, image by image."""
    problem = SuperResolution(4, autoencoder(), factor=2, sigma=0.7, max_batch=10)
    data = batch(2, generator)
    likelihood = problem.likelihood(data)
    states = space(3, 4).states
    decoded = shrunk(problem.autoencoder.decode(states), 2)
    images = shrunk(data["images"].double() / 127.5 - 1, 2)
    for chain in range(2):
        expected = -(decoded.double() - images[chain]).square().flatten(1).sum(1) / 0.49
        found = likelihood.log_likelihood(states[None].expand(2, -1, -1))[chain]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_the_likelihood_step_follows_it(space, generator):
    problem = SuperResolution(4, autoencoder(), factor=2, sigma=0.7)
    data = {name: value[:1].repeat(2000, *[1] * (value.ndim - 1))
            for name, value in batch(1, generator).items()}  # fmt: skip
    likelihood, states = problem.likelihood(data), space(3, 4)
    one = problem.likelihood({name: value[:1] for name, value in data.items()})
    law = one.log_likelihood(states.states[None])[0].softmax(0)
    z, _ = MetropolisStep(60)(data["states"], data["states"], 0.0, likelihood, 3, generator)
    states.assert_law(z, law)


def test_codes_come_from_a_run(tmp_path):
    codes = torch.randint(3, (6, 4), dtype=torch.uint8)
    images = torch.zeros(6, 1, 4, 4, dtype=torch.uint8)
    torch.save({"train": codes, "test": codes, "images": images}, tmp_path / "samples.pt")
    data = VqCodes(tmp_path, length=4, n_states=3, n_samples=5, batch_size=5)
    (shown,) = data.test_dataloader()
    assert torch.equal(shown["states"], codes[:5].long()) and shown["images"].shape == (5, 1, 4, 4)
    with pytest.raises(UserError, match=r"outside 0\.\.1"):
        VqCodes(tmp_path, length=4, n_states=2).split("train")
    with pytest.raises(UserError, match="not \\(n, 9\\)"):
        VqCodes(tmp_path, length=9, n_states=3).split("train")
    torch.save({"network": {}}, tmp_path / "samples.pt")
    with pytest.raises(UserError, match="no codes of images"):
        VqCodes(tmp_path, length=4, n_states=3).split("train")


def test_bad_settings(tmp_path):
    with pytest.raises(UserError, match="sigma > 0"):
        SuperResolution(4, autoencoder(), sigma=0)
    other = VqAutoencoder(channels=1, widths=(4, 8), codes=5, dimension=2, blocks=1)
    torch.save({"network": other.state_dict()}, tmp_path / "samples.pt")
    with pytest.raises(UserError, match="do not fit this network"):
        SuperResolution(4, autoencoder(), tmp_path)
