"""A folder of pictures of any size, as squares of one size."""

import pytest
import torch

from jumpbench.data.images import GreyMnist, Pictures
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
    with pytest.raises(UserError, match="32 pixels"):
        GreyMnist(28)
