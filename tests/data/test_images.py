"""Images as counts: binarised MNIST, CIFAR-10, CelebA from a folder and an archive."""

import zipfile

import numpy as np
import pytest
import torch

from jumpbench.data import celeba
from jumpbench.data.images import BinarisedMnist, CelebA, Cifar10, generated_pictures, shrunk
from jumpbench.errors import DataCorrupt, DataMissing, UserError
from support import needs_data


@pytest.mark.parametrize(
    ("data", "shape", "maximum"),
    [
        (BinarisedMnist(16, generated=20), (1, 16, 16), 1),
        (BinarisedMnist(32, generated=20), (1, 32, 32), 1),
        (Cifar10(16, generated=20), (3, 16, 16), 255),
        (CelebA(64, generated=20), (3, 64, 64), 255),
    ],
)
def test_generated_images_have_the_shapes(data, shape, maximum):
    images = data.table("train")
    assert images.shape == (20, *shape) and images.dtype == torch.uint8
    assert data.maximum == maximum >= int(images.max()) > 0
    assert not torch.equal(images, data.table("test"))


@needs_data("mnist")
def test_binarised_mnist_is_resized_first():
    """Ones in training images: 0.1301 at 16 pixels (computed once with an independent resize)."""
    images = BinarisedMnist(16).counts(train=True)
    assert images.shape == (60000, 1, 16, 16) and set(images.unique().tolist()) == {0, 1}
    assert abs(float(images.double().mean()) - 0.1301) < 1e-4
    from PIL import Image

    from jumpbench.data.mnist import load_mnist

    raw = load_mnist(True)[0][:50]
    large = BinarisedMnist(32).pixels(raw)[:, 0]
    for image, ours in zip(raw, large, strict=True):
        grey = Image.fromarray(image.numpy()).convert("F")
        other = np.asarray(grey.resize((32, 32), Image.Resampling.BILINEAR))
        assert torch.equal(ours, torch.from_numpy(other > 127.5).byte())


@needs_data("cifar10")
def test_cifar10_is_used_as_it_is():
    images = Cifar10(32).counts(train=False)
    assert images.shape == (10000, 3, 32, 32) and images.max() == 255


def test_shrinking_is_a_rounded_mean():
    image = torch.tensor([[1, 2, 0, 0], [3, 4, 0, 1], [9, 9, 5, 5], [9, 9, 5, 5]])
    assert shrunk(image.view(1, 1, 4, 4).byte(), 2).flatten().tolist() == [2, 0, 9, 5]


@pytest.fixture
def faces(tmp_path):
    """Four pictures in CelebA's format: a grey border that the crop takes away, a centre."""
    from PIL import Image

    folder = tmp_path / "celeba" / celeba.FOLDER
    folder.mkdir(parents=True)
    for number in range(4):
        picture = Image.new("RGB", (178, 218), (128, 128, 128))
        picture.paste((60 * number, 0, 255), (19, 39, 159, 179))
        picture.save(folder / f"{number:06d}.jpg", quality=95)
    parts = "000000.jpg 0\n000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n"
    (tmp_path / "celeba" / celeba.SPLIT).write_text(parts)
    return tmp_path


def check_faces(root):
    train, test = celeba.load_celeba(True, 64, root), celeba.load_celeba(False, 64, root)
    assert train.shape == (2, 3, 64, 64) and test.shape == (1, 3, 64, 64)
    assert (train[1, :, 32, 32].int() - torch.tensor([60, 0, 255])).abs().max() < 4
    assert (test[0, :, 2, 2].int() - torch.tensor([180, 0, 255])).abs().max() < 12


def test_celeba_from_a_folder(faces):
    check_faces(faces)
    assert celeba.verify(faces) == "2 pictures, 1 pictures"
    assert CelebA(64, root=faces).table("train").shape == (2, 3, 64, 64)


def test_celeba_from_the_archive(faces):
    folder = faces / "celeba" / celeba.FOLDER
    with zipfile.ZipFile(faces / "celeba" / celeba.ARCHIVE, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{celeba.FOLDER}/{path.name}")
            path.unlink()
    folder.rmdir()
    check_faces(faces)


def test_damaged_celeba_is_named(faces):
    picture = faces / "celeba" / celeba.FOLDER / "000001.jpg"
    picture.write_bytes(b"no picture")
    with pytest.raises(DataCorrupt, match=r"000001\.jpg cannot be read"):
        celeba.load_celeba(True, 64, faces)
    picture.unlink()
    with pytest.raises(DataCorrupt, match=r"listed in .* but absent"):
        celeba.load_celeba(True, 64, faces)
    with pytest.raises(DataMissing, match=celeba.SPLIT):
        celeba.load_celeba(True, 64, faces / "nowhere")


def test_a_damaged_archive_is_named(tmp_path):
    folder = tmp_path / "celeba"
    folder.mkdir()
    (folder / celeba.SPLIT).write_text("000000.jpg 0\n")
    (folder / celeba.ARCHIVE).write_bytes(b"PK nothing")
    with pytest.raises(DataCorrupt, match="cannot be read"):
        celeba.load_celeba(True, 64, tmp_path)


@pytest.mark.parametrize("make", [lambda: BinarisedMnist(28), lambda: Cifar10(20)])
def test_other_sizes_are_refused(make):
    with pytest.raises(UserError, match="pixels"):
        make()


def test_generated_pictures_are_seeded():
    assert torch.equal(generated_pictures(3, 8, 1)[0], generated_pictures(3, 8, 1)[0])
    assert not torch.equal(generated_pictures(3, 8, 1)[0], generated_pictures(3, 8, 2)[0])
