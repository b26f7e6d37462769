"""A folder of pictures of any size, as squares of one size."""

import numpy as np
import pytest
import torch
from torchvision.transforms.v2 import InterpolationMode, functional

from jumpbench.data.images import BinarisedMnist, GreyMnist, Pictures
from jumpbench.data.mnist import generated_digits
from jumpbench.data.pictures import load_pictures, square
from jumpbench.errors import DataCorrupt, DataMissing, UserError

Image = pytest.importorskip("PIL.Image")


def test_pictures_of_any_size(tmp_path):
    """The middle square is kept; the last by name are held out."""
    folder = tmp_path / "ffhq" / "00000"
    folder.mkdir(parents=True)
    for number, colour in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        picture = Image.new("RGB", (40, 20), (9, 9, 9))
        picture.paste(colour, (10, 0, 30, 20))
        picture.save(folder / f"{number}.png")
    train = load_pictures("ffhq", True, 8, 1, tmp_path)
    assert train.shape == (2, 3, 8, 8)
    assert train[0].amax((1, 2)).tolist() == [255, 0, 0] == train[0].amin((1, 2)).tolist()
    data = Pictures(8, held_out=2, root=tmp_path)
    assert data.table("train").shape == (1, 3, 8, 8) and data.table("test").shape == (2, 3, 8, 8)
    with pytest.raises(DataMissing, match="put more into"):
        load_pictures("ffhq", True, 8, 3, tmp_path)
    (folder / "0.png").write_bytes(b"nothing")
    with pytest.raises(DataCorrupt, match="cannot be read"):
        square(folder / "0.png", 8)
    with pytest.raises(DataMissing, match="put the pictures"):
        load_pictures("faces", True, 8, 1, tmp_path)


def test_grey_digits():
    data = GreyMnist(generated=5)
    images = data.table("test")
    assert images.shape == (5, 1, 32, 32) and int(images.max()) > 100
    assert int(images[..., [0, 1, 30, 31], :].sum()) == 0 and images.dtype == torch.uint8
    with pytest.raises(UserError, match="32 or 16 pixels"):
        GreyMnist(28)


@pytest.mark.parametrize(("shape", "size", "side"), [((178, 218), 64, 140), ((41, 20), 8, None)])
def test_a_square_is_pils(tmp_path, shape, size, side):
    """Crop and resize as PIL does them, which is what the recorded results used."""
    noise = np.random.default_rng(0).integers(0, 256, (shape[1], shape[0], 3), dtype=np.uint8)
    picture = Image.fromarray(noise)
    picture.save(tmp_path / "noise.png")
    edge = side or min(shape)
    left, top = (shape[0] - edge) // 2, (shape[1] - edge) // 2
    filtering = Image.Resampling.BILINEAR if side else Image.Resampling.BICUBIC
    cut = picture.crop((left, top, left + edge, top + edge))
    expected = torch.from_numpy(np.array(cut.resize((size, size), filtering))).permute(2, 0, 1)
    got = square(tmp_path / "noise.png", size, side)
    assert torch.equal(got, expected)
    mode = InterpolationMode.BILINEAR if side else InterpolationMode.BICUBIC
    pixels = functional.pil_to_tensor(cut)
    tensors = functional.resize(pixels, [size, size], mode, antialias=True)
    assert (tensors.int() - expected.int()).abs().max() <= 1  # close, and not the recipe's


def test_the_middle_of_an_odd_border_is_not_torchvisions(tmp_path):
    """Three columns too many: one is left out to the left here, two by ``center_crop``."""
    noise = np.random.default_rng(0).integers(0, 256, (8, 11, 3), dtype=np.uint8)
    picture = Image.fromarray(noise)
    picture.save(tmp_path / "noise.png")
    got = square(tmp_path / "noise.png", 8)
    assert torch.equal(got, torch.from_numpy(noise[:, 1:9]).permute(2, 0, 1))
    theirs = functional.pil_to_tensor(functional.center_crop(picture, [8, 8]))
    assert torch.equal(theirs, torch.from_numpy(noise[:, 2:10]).permute(2, 0, 1))
    with pytest.raises(DataCorrupt, match="too small for a 9 pixel crop"):
        square(tmp_path / "noise.png", 8, 9)


def test_binarised_digits_are_resized_as_real_values():
    """On real values, transforms v2 resizes alike; on bytes it rounds before the threshold."""
    raw = generated_digits(200)[0].unsqueeze(1)
    ours = BinarisedMnist(generated=1).pixels(raw.squeeze(1))
    real = functional.resize(raw.float(), [32, 32])
    assert torch.equal(ours, (real > 127.5).to(torch.uint8))
    grey = GreyMnist(generated=1).pixels(raw.squeeze(1))
    assert torch.equal(grey, functional.pad(raw, [2]))
    small = GreyMnist(16, generated=1).pixels(raw.squeeze(1))
    squares = grey.double().unfold(2, 2, 2).unfold(3, 2, 2).mean((-1, -2))
    assert small.dtype == torch.uint8 and torch.equal(small.double(), squares.round())
