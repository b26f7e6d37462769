"""Published weights of networks that judge images: where they are looked for, fetched, verified."""

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jumpbench.data.files import DOWNLOAD_TIMEOUT_SECONDS, socket_timeout
from jumpbench.errors import DataCorrupt, DataMissing
from jumpbench.paths import data_root


@dataclass(frozen=True)
class Weights:
    """One file of weights. ``name`` is its folder under the data root; ``sha256`` is its digest, or
    the first eight digits of it, which torch's convention puts into the file's name."""

    name: str
    file: str
    url: str
    sha256: str
    also: tuple[str, ...] = ()  # other names under which the same file is published

    def places(self, root: str | Path | None = None) -> list[Path]:
        """Where the file may lie, in the order of the search: the data root, then torch's hub."""
        import torch

        names = (self.file, *self.also)
        folders = (data_root(root) / self.name, Path(torch.hub.get_dir()) / "checkpoints")
        return [folder / name for folder in folders for name in names]

    def obtain(self, path: str | Path | None = None, root: str | Path | None = None) -> Path:
        """The verified file: ``path`` if it is given, else found, else fetched into torch's hub.

        Raises:
            DataMissing: it is nowhere and cannot be fetched; the line names file and folders.
            DataCorrupt: another file stands under its name.
        """
        if path is not None:
            if not Path(path).is_file():
                raise DataMissing(f"{self.name}: {path} does not exist")
            return self._verified(Path(path))
        places = self.places(root)
        present = next((place for place in places if place.is_file()), None)
        return self._verified(present or self._fetched(places))

    def _fetched(self, places: list[Path]) -> Path:
        import torch

        target = Path(torch.hub.get_dir()) / "checkpoints" / self.file
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with socket_timeout(DOWNLOAD_TIMEOUT_SECONDS):
                torch.hub.download_url_to_file(self.url, str(target), progress=False)
        except OSError as error:
            folders = " or ".join(dict.fromkeys(str(place.parent.absolute()) for place in places))
            raise DataMissing(
                f"{self.name}: put {self.file} into {folders}; {self.url} did not answer ({error})"
            ) from None
        return target

    def _verified(self, path: Path) -> Path:
        status = path.stat()
        digest = _sha256(str(path), status.st_mtime_ns, status.st_size)
        if not digest.startswith(self.sha256):
            raise DataCorrupt(
                f"{path} is not the published file: its sha256 begins with {digest[:8]}, not with "
                f"{self.sha256[:8]}; delete it and fetch it again from {self.url}"
            )
        return path


INCEPTION = Weights(
    name="inception",
    file="weights-inception-2015-12-05-6726825d.pth",
    url="https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/"
    "weights-inception-2015-12-05-6726825d.pth",
    sha256="6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
    also=("pt_inception-2015-12-05-6726825d.pth",),
)
VGG16 = Weights(
    name="vgg16",
    file="vgg16-397923af.pth",
    url="https://download.pytorch.org/models/vgg16-397923af.pth",
    sha256="397923af",
)


def verify_inception(root: str | Path | None = None) -> str:
    """Verify the network of FID, fetching it if it is absent."""
    return f"{INCEPTION.obtain(root=root)}: verified"


def verify_vgg16(root: str | Path | None = None) -> str:
    """Verify the features of LPIPS, fetching them if they are absent."""
    return f"{VGG16.obtain(root=root)}: verified"


@contextmanager
def as_torch_hub(path: Path) -> Iterator[None]:
    """Within, torch's hub holds this file: for libraries that load from there alone."""
    import torch

    before = torch.hub.get_dir()
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Path(folder) / "checkpoints"
        checkpoints.mkdir()
        (checkpoints / path.name).symlink_to(path.absolute())
        torch.hub.set_dir(folder)
        with contextlib.ExitStack() as stack:
            stack.callback(torch.hub.set_dir, before)
            yield


@cache
def _sha256(path: str, modified: int, size: int) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
