"""Every real dataset the suite can use: what it is, where it comes from, how it is verified.

Listing costs nothing (no torch import); verifying reads the files, and fetches what is absent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from jumpbench.paths import data_root


@dataclass(frozen=True)
class Dataset:
    """A dataset as ``jumpbench data`` lists it.

    ``files`` are names inside ``<root>/<name>/`` (any may be compressed); ``verifier`` is
    ``module:function``, a function of ``root`` that returns one line saying what was verified and
    raises :class:`~jumpbench.errors.DataMissing` or :class:`~jumpbench.errors.DataCorrupt`.
    """

    name: str
    about: str
    files: tuple[str, ...]
    source: str
    licence: str
    used_by: tuple[str, ...]
    verifier: str

    def present(self, root: str | Path | None = None) -> bool:
        """Whether anything of the dataset lies under the root (nothing is read or verified)."""
        folder = data_root(root) / self.name
        return folder.is_dir() and any(folder.iterdir())

    def verify(self, root: str | Path | None = None) -> str:
        """Read and check every file, downloading absent ones where that is possible."""
        module, function = self.verifier.split(":")
        check: Callable[[str | Path | None], str] = getattr(import_module(module), function)
        return check(root)


def datasets() -> dict[str, Dataset]:
    """All datasets by name, the names that table files use under ``data:``."""
    listed = (
        Dataset(
            name="mnist",
            about="handwritten digits, 60,000 train and 10,000 test images of 28x28 uint8",
            files=(
                "train-images-idx3-ubyte",
                "train-labels-idx1-ubyte",
                "t10k-images-idx3-ubyte",
                "t10k-labels-idx1-ubyte",
            ),
            source="https://ossci-datasets.s3.amazonaws.com/mnist/ (downloaded if absent)",
            licence="CC BY-SA 3.0 (LeCun, Cortes, Burges)",
            used_by=("symmetric_diffusers", "sgdd", "blackout"),
            verifier="jumpbench.data.mnist:verify",
        ),
        Dataset(
            name="cifar10",
            about="natural images, 50,000 train and 10,000 test of 3x32x32 uint8",
            files=(
                "cifar-10-binary.tar.gz or cifar-10-python.tar.gz or data_batch_1.bin .. "
                "data_batch_5.bin and test_batch.bin",
            ),
            source="https://www.cs.toronto.edu/~kriz/cifar.html (downloaded if absent)",
            licence="not stated; cite Krizhevsky 2009",
            used_by=("symmetric_diffusers", "blackout"),
            verifier="jumpbench.data.cifar10:verify",
        ),
        Dataset(
            name="celeba",
            about="faces, 162,770 train and 19,962 test JPEG pictures of 178x218, aligned",
            files=("img_align_celeba.zip or img_align_celeba/", "list_eval_partition.txt"),
            source="https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (fetch it yourself)",
            licence="non-commercial research only",
            used_by=("blackout",),
            verifier="jumpbench.data.celeba:verify",
        ),
        Dataset(
            name="tsp",
            about="Euclidean TSP test instances with optimal or near-optimal tours",
            files=("tsp_10_test_exact.txt", "tsp20_test.txt", "tsp50_test.txt", "tsp100_test.txt"),
            source="the repositories that data/README.md names (put the files there yourself)",
            licence="not stated",
            used_by=("symmetric_diffusers",),
            verifier="jumpbench.data.tsp:verify",
        ),
        Dataset(
            name="music",
            about="1,034 folk tunes as MIDI files (Nottingham database)",
            files=("nottingham.tar.xz",),
            source="https://github.com/jukedeck/nottingham-dataset (pack its folder MIDI yourself)",
            licence="GPL v3",
            used_by=("sgdd",),
            verifier="jumpbench.data.melodies:verify",
        ),
        Dataset(
            name="lakh_pianoroll",
            about="monophonic melodies, arrays (n, 256) with values 0..128 (Campbell et al. 2022)",
            files=("train.npy", "test.npy"),
            source="the folder that the README of https://github.com/andrew-cr/tauLDR names: "
            "https://www.dropbox.com/scl/fo/zmwsav82kgqtc0tzgpj3l/h?rlkey=k6d2bp73k4ifavcg9ldjhgu0s"
            " (fetch it yourself)",
            licence="not stated",
            used_by=("sgdd",),
            verifier="jumpbench.data.melodies:verify_pianoroll",
        ),
        Dataset(
            name="gosai",
            about="enhancers of 200 letters, activities in three cell lines (Gosai et al. 2023)",
            files=("gosai_all.csv", "dataset.csv", "accessibility.csv"),
            source="the archive that the README of https://github.com/ChenyuWang-Monica/DRAKES "
            "names: https://www.dropbox.com/scl/fi/zi6egfppp0o78gr0tmbb1/DRAKES_data.zip"
            "?rlkey=yf7w0pm64tlypwsewqc01wmfq&dl=1 (fetch it yourself; data/README.md says which "
            "file of it goes where)",
            licence="not stated",
            used_by=("sgdd",),
            verifier="jumpbench.data.enhancers:verify_gosai",
        ),
        Dataset(
            name="ffhq",
            about="faces, 70,000 PNG pictures (any folder of pictures will do)",
            files=("*.png or *.jpg, in subfolders or not",),
            source="https://github.com/NVlabs/ffhq-dataset (fetch it yourself)",
            licence="CC BY-NC-SA 4.0",
            used_by=("sgdd",),
            verifier="jumpbench.data.pictures:verify_ffhq",
        ),
        Dataset(
            name="inception",
            about="weights of the network of FID and Inception score (torch-fidelity's port)",
            files=("weights-inception-2015-12-05-6726825d.pth",),
            source="https://github.com/toshas/torch-fidelity/releases/tag/v0.2.0 (downloaded if "
            "absent)",
            licence="Apache 2.0",
            used_by=("blackout",),
            verifier="jumpbench.data.weights:verify_inception",
        ),
        Dataset(
            name="vgg16",
            about="ImageNet weights of the features of LPIPS (torchvision's VGG16)",
            files=("vgg16-397923af.pth",),
            source="https://download.pytorch.org/models/vgg16-397923af.pth (downloaded if absent)",
            licence="BSD 3-Clause",
            used_by=("sgdd",),
            verifier="jumpbench.data.weights:verify_vgg16",
        ),
    )
    return {dataset.name: dataset for dataset in listed}
