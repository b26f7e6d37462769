"""The VQ autoencoder: codes and back, gradients through the codes, the published size."""

import torch

from jumpbench.networks.vq_autoencoder import VqAutoencoder


def network():
    torch.manual_seed(0)
    return VqAutoencoder(channels=1, widths=(8, 16), codes=12, dimension=3, blocks=1)


def test_shapes_and_nearest_codes():
    model, images = network(), torch.rand(5, 1, 8, 8) * 2 - 1
    codes = model.encode(images)
    assert codes.shape == (5, 16) and codes.dtype == torch.long and int(codes.max()) < 12
    latent = model.latent(images).flatten(1, 2)
    distance = (latent[:, :, None] - model.codebook).square().sum(-1)
    assert torch.equal(codes, distance.argmin(-1))
    assert model.decode(codes).shape == images.shape


def test_a_pass_is_the_decoded_codes_and_reaches_encoder_and_codes():
    model, images = network(), torch.rand(5, 1, 8, 8) * 2 - 1
    decoded, to_latent, to_code, latent = model(images)
    torch.testing.assert_close(decoded, model.decode(model.encode(images)))
    vectors = model.codebook[model.nearest(latent)]
    expected = (vectors - latent).square().mean()
    torch.testing.assert_close(to_latent, expected)
    torch.testing.assert_close(to_code, expected)
    decoded.square().sum().backward(retain_graph=True)
    assert model.encoder[0].weight.grad.abs().sum() > 0 and model.codebook.grad is None
    to_latent.backward()
    assert model.codebook.grad.abs().sum() > 0


def test_the_published_shape():
    """256 x 256 to 32 x 32 = 1,024 codes of 256."""
    with torch.device("meta"):
        model = VqAutoencoder()
        codes = model.nearest(model.latent(torch.empty(2, 3, 256, 256))).flatten(1)
        assert codes.shape == (2, 1024) and model.decode(codes).shape == (2, 3, 256, 256)
    assert model.codebook.shape == (256, 4)
